import "./page.css";
document.title = "perp replay";
