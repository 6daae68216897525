"""Compile a function that others call as part of these, and not once more by itself.

Numba optimises every function that it compiles, translates it to machine code and writes two wrappers for calls from
Python. If compiled code calls the function, its optimised code is then copied into the caller, and optimised and
translated again with it, and so on for every level of calls. Most functions of this package are only called by others.
For such calls, :func:`shared_with_callers` leaves out everything but the copy, which the outermost caller optimises.
"""

from __future__ import annotations

from typing import Any

import numba
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.codegen import JITCodeLibrary
from numba.core.typed_passes import NativeLowering


class _Library(JITCodeLibrary):
    """Code of a function for its callers, not optimised and without machine code."""

    def _optimize_final_module(self) -> None:
        """Do nothing: the outermost caller optimises."""

    def _finalize_final_module(self) -> None:
        """Mark the code as complete, without translating it."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """Numba's last step, into such a library."""

    _name = "lowering_for_callers"

    def run_pass(self, state: Any) -> bool:
        """Compile, and register the code for callers under a key of its own."""
        codegen = state.targetctx.codegen()
        state.library = _Library(codegen, state.func_id.func_qualname)
        state.flags.no_compile = state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
        super().run_pass(state)
        state.library.finalize()
        lowered, key = state["cr"], [].append
        state.targetctx.insert_user_function(key, lowered.fndesc, [state.library])
        state["cr"] = _LowerResult(lowered.fndesc, lowered.call_helper, cfunc=key, env=lowered.env)
        return True


class _Compiler(CompilerBase):
    """Numba's compiler with that step."""

    def define_pipelines(self) -> list[Any]:
        """Return the one list of steps."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [(_Lowering, text) if step is NativeLowering else (step, text) for step, text in manager.passes]
        manager._finalized = False
        manager.finalize()
        return [manager]


def shared_with_callers(dispatcher: Any, options: dict[str, Any]) -> None:
    """Make compiled callers of a function compile it without machine code of its own."""
    part = numba.njit(**{**options, "cache": False}, pipeline_class=_Compiler)(dispatcher.py_func)
    dispatcher.get_call_template, dispatcher.get_overload = part.get_call_template, part.get_overload
