"""The host package: problems, models, solvers, results, plots and the command line.

Here the methods of results that draw, write and read are registered, before any part is imported
(:mod:`beltline.host.results.services`). So a result does not import what it does not use.
"""

from beltline.host.results.services import provide

__version__ = "0.1.0"

provide(
    {
        "Result.plot": "beltline.host.plots.result_plot:plot",
        "Result.save": "beltline.host.results.save:save",
        "Result.transitions": "beltline.host.analysis.transitions:transitions",
        "Result.verify": "beltline.host.solver.certify:verify",
        "Result.to_xarray": "beltline.host.results.dataset:to_xarray",
        "ModelResult.plot": "beltline.host.models.plots:plot",
        "Refined.of": "beltline.host.analysis.refine:refine",
        "Refined.plot": "beltline.host.plots.refined:plot",
        "load.aiyagari": "beltline.host.models.aiyagari.model:read",
        "load.aiyagari_path": "beltline.host.models.aiyagari_path.model:read",
        "load.aiyagari_types": "beltline.host.models.aiyagari_types.model:read",
        "load.arellano": "beltline.host.models.arellano.model:read",
        "load.cohort": "beltline.host.models.cohort.model:read",
        "load.discrete_result": "beltline.host.results.record:read",
        "load.equilibrium": "beltline.host.models.equilibrium.economy:read",
        "load.general_result": "beltline.host.results.record:read",
        "load.hopenhayn_rogerson": "beltline.host.models.hopenhayn_rogerson.model:read",
        "load.krusell_smith": "beltline.host.models.krusell_smith.model:read",
        "load.lumpy_investment": "beltline.host.models.lumpy_investment.model:read",
        "load.solution": "beltline.host.results.record:read",
        "load.result": "beltline.host.results.record:read",
        "load.retirement": "beltline.host.models.retirement.model:read",
        "load.transition": "beltline.host.models.equilibrium.transition:read",
    }
)
