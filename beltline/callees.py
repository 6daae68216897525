"""Compile a function that compiled code calls as part of its caller, and not once more by itself.

Numba optimises every function that it compiles, translates it to machine code and writes wrappers for calls from
Python. If compiled code calls the function, its optimised code is then copied into the caller, and optimised and
translated again with it, and so on for every level of calls. Most functions of this package, and of Numba's own that
these call, are only called from compiled code. There everything but the copy is left out here, and the outermost caller
optimises it. So it is with the body of a parallel loop, which Numba would optimise and translate four times.

This replaces steps inside Numba, so :mod:`beltline.compiled` imports it with the tested version only.
"""

from __future__ import annotations

from typing import Any

import numba
from numba.core import event, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.target_extension import jit_registry, target_registry
from numba.core.targetconfig import TargetConfig
from numba.core.typed_passes import NativeLowering, NativeParforLowering
from numba.parfors.parfor import Parfor

from beltline.compile_clock import clock


class _Library(JITCodeLibrary):
    """Code of a function for its callers, not optimised and without machine code."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Only say for which processor the code is: the outermost caller optimises."""
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Do nothing, for the same reason."""

    def _finalize_final_module(self) -> None:
        """Mark the code as complete, without translating it."""
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """Numba's last step, into such a library."""

    _name = "lowering_for_callers"

    def run_pass(self, state: Any) -> bool:
        """Compile, and register the code for callers under a key of its own."""
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
        super().run_pass(state)
        state.library.finalize()
        # A dispatcher requires a built-in function, each of which is another key.
        lowered = state["cr"]
        key: Any = [].append
        state.targetctx.insert_user_function(key, lowered.fndesc, [state.library])
        state["cr"] = _LowerResult(lowered.fndesc, lowered.call_helper, cfunc=key, env=lowered.env)
        return True


_OF_LOOPS = "__numba_parfor_gufunc", "<numba.np.ufunc.wrappers._Gufunc", "parallelgufuncwrapper"
"""What the names of the libraries of a parallel loop begin with."""


@register_pass(mutates_CFG=True, analysis_only=False)
class _ParallelLowering(NativeParforLowering):
    """Numba's last step for a function that uses threads, with parallel loops in such libraries."""

    _name = "lowering_of_loops"

    def run_pass(self, state: Any) -> bool:
        """Compile; Numba would optimise and translate the body of a loop and two wrappers, each with all it calls."""
        for block in state.func_ir.blocks.values():
            for loop in block.find_insts(Parfor):
                loop.flags = loop.flags.copy()
                loop.flags.no_compile = True
        codegen = state.targetctx.codegen()

        def create(name: str) -> JITCodeLibrary:
            return (_Library if name.startswith(_OF_LOOPS) else JITCodeLibrary)(codegen, name)

        codegen.create_library = create
        try:
            return bool(super().run_pass(state))
        finally:
            del codegen.create_library


class _Compiler(CompilerBase):
    """Numba's compiler with one of these steps."""

    step, own = NativeLowering, _Lowering

    def define_pipelines(self) -> list[Any]:
        """Return the one list of steps."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [(self.own if step is self.step else step, text) for step, text in manager.passes]
        manager._finalized = False
        manager.finalize()
        return [manager]


class _ParallelCompiler(_Compiler):
    step, own = NativeParforLowering, _ParallelLowering


def compile_as_one(options: dict[str, Any]) -> None:
    """Add to the options of a function that uses threads what compiles its loops as a part of it."""
    options["pipeline_class"] = _ParallelCompiler


def compile_with_callers(dispatcher: Any, options: dict[str, Any]) -> None:
    """Make compiled callers of a function compile it as a part of them."""
    part = numba.njit(**{**options, "cache": False}, pipeline_class=_Compiler)(dispatcher.py_func)

    def template(arguments: Any, named: Any) -> Any:
        return part.get_call_template(tuple(map(_wide, arguments)), {name: _wide(kind) for name, kind in named.items()})

    dispatcher.get_call_template, dispatcher.get_overload = template, part.get_overload


def _wide(kind: Any) -> Any:
    """Return the type of a parameter: callers convert integers, so that nothing is compiled twice for their types."""
    return types.int64 if isinstance(kind, types.Integer) and getattr(kind, "signed", False) else kind


_CPU = target_registry["cpu"]
_decorator = jit_registry[_CPU]


def _decorated(*arguments: Any, **options: Any) -> Any:
    """Decorate one of Numba's own functions."""
    return _decorator(*arguments, **options, pipeline_class=_Compiler)


class _Listener(event.Listener):
    """Sets how Numba's own functions are compiled while a function of this package is."""

    def on_start(self, event: Any) -> None:
        """Set it."""
        if clock.depth == 1 and (event.data["dispatcher"].py_func.__module__ or "").startswith("beltline."):
            jit_registry.update({_CPU: _decorated})

    def on_end(self, event: Any) -> None:
        """Set it back."""
        if clock.depth == 0:
            jit_registry.update({_CPU: _decorator})


def _equal(one: TargetConfig, other: Any) -> bool:
    """Compare options as Numba does, but only those that are set: it does so for every operation of a function."""
    if not isinstance(other, TargetConfig):
        return NotImplemented
    a, b = one._values, other._values
    return a == b or all(getattr(one, name) == getattr(other, name, None) for name in {*a, *b})


event.register("numba:compile", _Listener())
TargetConfig.__eq__ = _equal
