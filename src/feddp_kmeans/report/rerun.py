"""How to run it again: the command or the call, and the versions."""

from typing import Any

from feddp_kmeans.report.guarantee import is_private
from feddp_kmeans.report.text import words


def rerun_section(result: dict[str, Any]) -> str:
    """Return the section on the command and the versions."""
    versions = {"feddp-kmeans": result["version"]} | (result.get("versions") or {})
    listed = ", ".join(f"{words(key)} {words(value)}" for key, value in versions.items())
    care = "<p>Running it again on the same data spends the budget a second time: the guarantees add up.</p>" if is_private(result) else ""
    return f"""<section aria-labelledby="again"><h2 id="again">How to run it again</h2>
<p>{_how(result)}</p><pre tabindex="0"><code>{words(result.get("command") or _call(result))}</code></pre>
{care}<p class="soft">Made with {listed}.</p></section>"""


def _how(result: dict[str, Any]) -> str:
    told = (
        "The command that made this result:"
        if result.get("command")
        else "In Python; settings that were not recorded are at their defaults:"
    )
    same = "gives the same numbers" if result.get("seed") is not None else "draws new noise, so the numbers will differ"
    return f"Running it again {same}. {told}"


def _call(result: dict[str, Any]) -> str:
    epsilon = 'float("inf")' if result["epsilon"] == "inf" else repr(result["epsilon"])
    settings = [f"n_clusters={result['n_clusters']!r}", f"epsilon={epsilon}", f"delta={result['delta']!r}"]
    settings += [f'{key}="{result[key]}"' for key in ("privacy_unit", "method")]
    if result.get("seed") is not None:
        settings.append(f"random_state={result['seed']!r}")
    return f"FedDPKMeans({', '.join(settings)}).fit(clients, server_data=server_points)"
