"""The registry of verbs: what each one does, and where users meet it. It is read without loading the engine."""

from collections.abc import Mapping
from dataclasses import KW_ONLY
from functools import cache, partial
from types import MappingProxyType
from typing import Literal

from scrubjay.lazy import dataclass
from scrubjay.model import requests
from scrubjay.model.arguments import Request, arguments_of, label_of
from scrubjay.model.caller import Access


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb. `effect`: it reads, writes, or destroys what no `undo` brings back.

    `idempotent`: a repeated call changes nothing more. `logged`: its changes are found by their run, so that a caller
    whose answer was lost can ask for its outcome. `offline`: a client repeats its last answer while the daemon is away.
    `long`: it has no time limit; `stops`: it ends with its caller like a read, and what it has stored stays;
    `progress`: it reports how far it is. `needs`: the least level of access; the owner's for what reaches files or
    tokens outside a space. `all_spaces`: it concerns the whole store. `notes`: the notes carry it out, and keep their
    files in step; `curation`: the curation does, with the verbs of the engine; `code`: a program does, which calls
    other verbs with the rights of its caller. `command`, `route` and `tools` are its names on the surfaces.
    """

    request: type[Request[object]]
    _: KW_ONLY
    effect: Literal["reads", "writes", "destroys"]
    needs: Access
    idempotent: bool = False
    logged: bool = False
    offline: bool = False
    long: bool = False
    stops: bool = False
    progress: bool = False
    all_spaces: bool = False
    notes: bool = False
    curation: bool = False
    code: bool = False
    command: str = ""
    route: str = ""
    tools: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name, as that of its request: `merge_branch` for MergeBranchRequest."""
        return label_of(self.request)

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.effect == "reads"


_reads = partial(Verb, effect="reads", idempotent=True, needs=Access.READ)
# What an agent may do: it changes memories, and `undo` takes it back.
_writes = partial(Verb, effect="writes", logged=True, needs=Access.AGENT)
# What an agent may not decide: which of two statements holds, what leaves the inbox, which files become memories.
_decides = partial(Verb, effect="writes", logged=True, needs=Access.WRITE)
# A repeated call changes nothing more.
_sets = partial(Verb, effect="writes", idempotent=True, needs=Access.WRITE)
# It leaves nothing in the log of changes, and must not run twice.
_runs = partial(Verb, effect="writes", needs=Access.WRITE)

_ALL = (
    _writes(
        requests.RememberRequest, command="remember", route="POST /memories",
        tools=(
            "core.remember", "items.memory_store", "entities.store_memory", "entities.store_multi_entity_memory",
            "smart.create_memory", "smart.smart_write",
        ),
    ),
    _writes(
        requests.RememberManyRequest, long=True, progress=True, route="POST /memories/batch", tools=("core.remember",),
    ),
    _reads(
        requests.RecallRequest, offline=True, command="recall", route="POST /search",
        tools=("core.recall", "items.memory_recall", "entities.search_memory", "smart.search_memories"),
    ),
    _reads(requests.SearchTextRequest),
    _reads(
        requests.ReadRequest, offline=True, command="read", route="POST /memories/read",
        tools=("core.read", "kg.open_nodes"),
    ),
    _writes(
        requests.ReviseRequest, command="revise", route="PATCH /memories/{id}",
        tools=("core.revise", "kg.add_observations", "kg.delete_observations", "smart.update_memory"),
    ),
    _writes(
        requests.ForgetRequest, command="forget", route="POST /memories/forget",
        tools=("core.forget", "kg.delete_entities"),
    ),
    _writes(requests.RestoreRequest, command="restore", route="POST /memories/restore", tools=("core.forget",)),
    _writes(
        requests.ConfirmRequest, command="confirm", route="POST /memories/confirm",
        tools=("curation.confirm", "enhanced.memory_confirm"),
    ),
    Verb(
        requests.PurgeRequest, effect="destroys", needs=Access.WRITE, logged=True, long=True, notes=True,
        command="purge", route="POST /memories/purge",
    ),
    _writes(
        requests.RelateRequest, command="relate", route="POST /memories/{id}/links",
        tools=("core.relate", "kg.create_relations"),
    ),
    _writes(
        requests.UnrelateRequest, command="unrelate", route="DELETE /memories/{id}/links",
        tools=("core.relate", "kg.delete_relations"),
    ),
    _reads(
        requests.HistoryRequest, offline=True, command="history", route="GET /memories/{id}/versions",
        tools=("core.history", "enhanced.memory_diff"),
    ),
    _writes(
        requests.RevertRequest, command="revert", route="POST /memories/{id}/revert",
        tools=("core.revise", "enhanced.memory_revert"),
    ),
    _writes(
        requests.CommitRequest, command="commit", route="POST /memories/{id}/commit", tools=("enhanced.memory_commit",),
    ),
    _writes(
        requests.BranchRequest, command="branch", route="POST /memories/{id}/branches",
        tools=("enhanced.memory_branch",),
    ),
    _reads(
        requests.BranchesRequest, command="branches", route="GET /memories/{id}/branches",
        tools=("enhanced.memory_branches",),
    ),
    _sets(
        requests.SwitchRequest, needs=Access.AGENT, command="switch",
        route="POST /memories/{id}/branches/{name}/switch", tools=("enhanced.memory_branch",),
    ),
    _writes(
        requests.DropBranchRequest, command="drop-branch", route="DELETE /memories/{id}/branches/{name}",
        tools=("enhanced.memory_drop_branch",),
    ),
    _writes(
        requests.MergeBranchRequest, command="merge-branch", route="POST /memories/{id}/branches/{name}/merge",
        tools=("enhanced.memory_merge_branch",),
    ),
    _writes(
        requests.UndoRequest, command="undo", route="POST /undo", tools=("enhanced.memory_undo", "curation.curate"),
    ),
    _reads(requests.OutcomeRequest),
    _reads(requests.GraphRequest, command="graph", route="GET /graph"),
    _reads(
        requests.RelatedRequest, command="related", route="GET /memories/{id}/related", tools=("curation.related",),
    ),
    _reads(requests.DueRequest, command="due", route="GET /due", tools=("curation.due",)),
    _reads(requests.SummarizeRequest, command="summarize", route="POST /summary", tools=("curation.summarize",)),
    _reads(requests.PathRequest, command="path", route="GET /graph/path"),
    _reads(
        requests.ConflictsRequest, command="conflicts list", route="GET /conflicts",
        tools=("enhanced.detect_conflicts",),
    ),
    _reads(requests.ProbeConflictsRequest, tools=("enhanced.detect_conflicts",)),
    _runs(
        requests.ScanConflictsRequest, long=True, stops=True, progress=True, command="conflicts scan",
        route="POST /scan",
    ),
    _decides(requests.DuplicatesRequest, long=True, tools=("smart.intelligence_detect_duplicates",)),
    _sets(requests.ScanLaterRequest, route="POST /scan/later"),
    _decides(
        requests.ResolveConflictRequest, command="conflicts resolve", route="POST /conflicts/{id}/resolve",
        tools=("enhanced.resolve_conflict",),
    ),
    _writes(
        requests.ExtractRequest, long=True, progress=True, command="extract", route="POST /extract",
        tools=("enhanced.auto_extract_facts",),
    ),
    _reads(requests.ContextRequest, command="context", route="GET /context", tools=("session.session_context",)),
    _writes(requests.CreateEntitiesRequest, tools=("kg.create_entities", "enhanced.create_entities")),
    _writes(requests.UpdateEntityRequest, tools=("enhanced.update_entity",)),
    _reads(requests.SearchNodesRequest, tools=("kg.search_nodes", "enhanced.search_nodes")),
    _reads(requests.GetMemoryStatusRequest, tools=("enhanced.get_memory_status",)),
    _reads(requests.RulesRequest, command="rules show", route="GET /rules"),
    _sets(requests.SetRulesRequest, command="rules set", route="PATCH /rules"),
    _reads(requests.TagsRequest, command="tags list", route="GET /tags"),
    _sets(requests.AddSynonymsRequest, command="tags add", route="POST /tags/synonyms"),
    _sets(requests.RemoveSynonymsRequest, command="tags remove", route="DELETE /tags/synonyms"),
    _reads(requests.PreviewTagsRequest, command="tags preview", route="POST /tags/preview"),
    _reads(requests.InboxRequest, command="inbox list", route="GET /inbox"),
    _decides(requests.ApproveRequest, command="inbox approve", route="POST /inbox/approve"),
    _decides(requests.DeclineRequest, command="inbox decline", route="POST /inbox/decline"),
    _reads(requests.JobsRequest, command="jobs list", route="GET /jobs"),
    _sets(requests.RetryJobRequest, command="jobs retry", route="POST /jobs/{id}/retry"),
    _runs(requests.CancelJobRequest, command="jobs cancel", route="DELETE /jobs/{id}"),
    _runs(
        requests.CurateRequest, curation=True, long=True, progress=True, command="curate", route="POST /curations",
        tools=("curation.curate",),
    ),
    _decides(
        requests.PruneRequest, curation=True, long=True, progress=True, command="prune", route="POST /prune",
        tools=("items.memory_prune",),
    ),
    _reads(requests.CurationsRequest, curation=True, route="GET /curations", tools=("curation.curate",)),
    # It writes only what its caller may write, so that it needs no more than the right to read.
    _runs(
        requests.RunCodeRequest, code=True, long=True, stops=True, needs=Access.READ, command="code run",
        route="POST /code", tools=("code.run_code", "enhanced.execute_code"),
    ),
    # What others have asked is no business of a guest.
    _reads(
        requests.UsageRequest, needs=Access.AGENT, command="usage", route="GET /usage", tools=("curation.usage",),
    ),
    _writes(
        requests.SaveSkillRequest, code=True, long=True, command="skill save", route="POST /skills",
        tools=("code.save_skill",),
    ),
    _reads(
        requests.ListSkillsRequest, code=True, command="skill list", route="GET /skills", tools=("code.list_skills",),
    ),
    _reads(requests.LoadSkillRequest, code=True, command="skill show", route="GET /skills/{name}"),
    _runs(
        requests.RunSkillRequest, code=True, long=True, stops=True, needs=Access.READ, command="skill run",
        route="POST /skills/{name}/run", tools=("code.run_skill",),
    ),
    _reads(requests.StatusRequest, notes=True, command="status", route="GET /status"),
    _reads(requests.SpacesRequest, all_spaces=True, command="spaces"),
    # Who writes what is no business of a guest.
    _reads(
        requests.HealthRequest, needs=Access.AGENT, command="health", route="GET /health", tools=("curation.health",),
    ),
    _runs(requests.DoctorRequest, long=True, all_spaces=True, notes=True, command="doctor"),
    _runs(requests.EmbedMissingRequest, long=True, progress=True, all_spaces=True),
    _runs(
        requests.ReembedRequest, long=True, progress=True, all_spaces=True, needs=Access.OWNER, command="reembed",
    ),
    _runs(requests.BackupRequest, long=True, progress=True, needs=Access.OWNER, command="backup create"),
    _reads(requests.ExportRequest, long=True, progress=True, command="export", route="GET /export"),
    _runs(requests.ImportRequest, long=True, progress=True, command="import", route="POST /import"),
    _runs(requests.CreateTokenRequest, needs=Access.OWNER, command="tokens create"),
    _reads(requests.TokensRequest, needs=Access.OWNER, command="tokens list"),
    _sets(requests.RevokeTokenRequest, needs=Access.OWNER, command="tokens revoke"),
    _writes(
        requests.WriteNoteRequest, notes=True, command="notes write", route="POST /notes", tools=("notes.write_mem",),
    ),
    _reads(
        requests.ReadNoteRequest, notes=True, command="notes read", route="GET /notes/{id}", tools=("notes.read_mem",),
    ),
    _writes(
        requests.EditNoteRequest, notes=True, command="notes edit", route="PATCH /notes/{id}",
        tools=("notes.edit_mem",),
    ),
    _reads(
        requests.SearchNotesRequest, notes=True, command="notes search", route="GET /notes/search",
        tools=("notes.search_mem",),
    ),
    _writes(
        requests.LinkNotesRequest, notes=True, command="notes link", route="POST /notes/{id}/links",
        tools=("notes.link_mem",),
    ),
    _writes(
        requests.UnlinkNotesRequest, notes=True, command="notes unlink", route="DELETE /notes/{id}/links",
        tools=("notes.unlink_mem",),
    ),
    _reads(
        requests.CurrentDateRequest, notes=True, command="notes date", route="GET /notes/date",
        tools=("notes.get_current_date",),
    ),
    _writes(requests.ReviewNoteRequest, notes=True, command="notes review", route="POST /notes/{id}/review"),
    _reads(requests.DueNotesRequest, notes=True, command="notes due", route="GET /notes/due"),
    _reads(requests.BacklinksRequest, notes=True, command="notes backlinks", route="GET /notes/{id}/backlinks"),
    _reads(requests.BrokenLinksRequest, notes=True, command="notes broken", route="GET /notes/broken-links"),
    _reads(requests.NoteCategoriesRequest, notes=True, command="notes categories", route="GET /notes/categories"),
    _reads(requests.NoteTemplatesRequest, notes=True, command="notes templates", route="GET /notes/templates"),
    _decides(
        requests.SyncNotesRequest, notes=True, long=True, progress=True, command="notes sync", route="POST /notes/sync",
    ),
    _writes(requests.AttachFileRequest, notes=True, long=True, route="POST /notes/{id}/attachments"),
    _writes(requests.AttachPathRequest, notes=True, long=True, needs=Access.OWNER, command="notes attach"),
    _reads(
        requests.NoteAttachmentsRequest, notes=True, command="notes attachments", route="GET /notes/{id}/attachments",
    ),
    _reads(requests.OrphanedFilesRequest, notes=True, command="notes orphans", route="GET /attachments/orphans"),
    _writes(
        requests.ExportNotesRequest, notes=True, long=True, progress=True, needs=Access.OWNER, command="notes export",
    ),
    _writes(
        requests.ImportNotesRequest, notes=True, long=True, progress=True, needs=Access.OWNER, command="notes import",
    ),
    _writes(
        requests.AdoptNotesRequest, notes=True, long=True, progress=True, needs=Access.OWNER, command="notes adopt",
    ),
)  # fmt: skip

VERBS: Mapping[str, Verb] = MappingProxyType({verb.name: verb for verb in _ALL})
"""The verbs by name."""
_BY_REQUEST = {verb.request: verb for verb in _ALL}


def verb_of(request: Request[object]) -> Verb:
    """Return the verb that a request asks for."""
    for kind in type(request).__mro__:
        if kind in _BY_REQUEST:
            return _BY_REQUEST[kind]
    raise TypeError(f"{type(request).__name__} is not the request of a verb")


@cache
def names_by_alias() -> Mapping[str, str]:
    """Return the names of arguments by the other names that some verbs accept."""
    named = (argument for verb in _ALL for argument in arguments_of(verb.request))
    return {alias: argument.name for argument in named for alias in argument.about.aliases}
