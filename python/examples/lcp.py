"""Solve a linear complementarity problem: w = M z + q, z >= 0, w >= 0, z'w = 0."""
import perp

M = [[2, 1, 0], [1, 2, 1], [0, 1, 2]]
q = [-4, 1, -2]
solution = perp.solve(M, q)
print(solution.outcome, "by", solution.solver)
print("z =", [round(float(z), 12) for z in solution.z], "w =", [round(float(w), 12) for w in solution.w])
print("residual, computed anew:", solution.residual)
