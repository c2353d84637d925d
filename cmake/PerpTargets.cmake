# What every target of the project is compiled with.

# perp_sanitize(target): the sanitizers of this build, at compile and at link time.
function(perp_sanitize target)
    set(flags "")
    if(PERP_SANITIZE)
        list(APPEND flags -fsanitize=${PERP_SANITIZE})
    endif()
    if(PERP_FUZZ)
        list(APPEND flags -fsanitize=fuzzer-no-link,address,undefined)
    endif()
    if(flags)
        list(APPEND flags -fno-sanitize-recover=all -fno-omit-frame-pointer)
        target_compile_options(${target} PRIVATE ${flags})
        target_link_options(${target} PRIVATE ${flags})
    endif()
endfunction()

# perp_defaults(target [STRICT]): language, warnings and arithmetic. STRICT adds the warnings that
# pay off in the product but only make noise in tests.
function(perp_defaults target)
    cmake_parse_arguments(arg "STRICT" "" "" ${ARGN})
    target_compile_features(${target} PRIVATE c_std_17)
    set_target_properties(${target} PROPERTIES
        C_EXTENSIONS OFF C_STANDARD_REQUIRED ON C_VISIBILITY_PRESET hidden)
    target_compile_definitions(${target} PRIVATE
        _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE $<$<BOOL:${PERP_ASSERTS}>:PERP_ASSERTS=1>)
    # The same source must give the same bits: no contraction into fused multiply-add, never
    # -ffast-math. Nobody reads errno after sqrt, and setting it keeps sqrt from being inlined.
    target_compile_options(${target} PRIVATE -ffp-contract=off -fno-math-errno
        -Wall -Wextra -Wshadow -Wstrict-prototypes -Wpointer-arith -Wundef -Wvla)
    if(arg_STRICT)
        target_compile_options(${target} PRIVATE
            -Wconversion -Wno-sign-conversion -Wmissing-prototypes)
    endif()
    if(PERP_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
    perp_sanitize(${target})
endfunction()
