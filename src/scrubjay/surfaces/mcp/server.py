"""An MCP server over the memory: tools, resources, prompts and completions, limited to the caller's grant."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TypeVar, cast

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    DiscoverResult,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
    PromptsCapability,
    ReadResourceRequestParams,
    ReadResourceResult,
    RequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    ToolsCapability,
    UnsubscribeRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from scrubjay.cancelling import cancel
from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.lazy import dataclass
from scrubjay.model.caller import Access
from scrubjay.model.memory import Json
from scrubjay.ports import Progress
from scrubjay.surfaces.changes import ChangeBroadcaster
from scrubjay.surfaces.mcp import prompts, resources
from scrubjay.surfaces.mcp.arguments import ArgumentChecker, did_you_mean, display, nearest_names
from scrubjay.surfaces.mcp.cursors import invalid_cursor, pack, unpack
from scrubjay.surfaces.mcp.protocol import INSTRUCTIONS, describe_tool, protocol_error, tool_failure, tool_result
from scrubjay.surfaces.mcp.subscriptions import Subscriptions, listen
from scrubjay.surfaces.mcp.tool import CallLimiter, StaticResource, Tool, ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets import resources_of, reword, reword_remarks
from scrubjay.version import VERSION

T = TypeVar("T")
Context = ServerRequestContext[Subscriptions]
ContextOf = Callable[[Context], ToolContext]
"""Makes the context of a tool from a request: the caller and its space."""
SendProgress = Callable[[float, float | None, str | None], Awaitable[None]]

_log = logging.getLogger(__name__)
_PAGE = 50
_PROGRESS_SECONDS = 5.0
_MAX_RUN = 200
RUN = "scrubjay/run"
"""The key in a call's `_meta` that names the run its writes belong to."""


def make_server(
    tools: Sequence[Tool],
    *,
    context: ToolContext | ContextOf,
    limiter: CallLimiter,
    changes: ChangeBroadcaster,
    instructions: str = INSTRUCTIONS,
    persistent: bool = True,
    progress_seconds: float = _PROGRESS_SECONDS,
) -> "Server[Subscriptions]":
    """Return a server of these tools. A `persistent` one serves a single connection and can notify it of changes."""
    handlers = Handlers(
        tools={tool.name: tool for tool in tools},
        context=context if callable(context) else lambda _: context,
        limiter=limiter,
        changes=changes,
        progress_seconds=progress_seconds,
        static={resource.uri: resource for resource in resources_of(tools)},
    )
    server = Server[Subscriptions](
        "scrubjay",
        version=VERSION,
        title="Scrubjay",
        description="Long-term memory for agents",
        instructions=instructions,
        lifespan=lambda _: Subscriptions.open(),
        get_tool_input_schema=handlers.schema_of,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_subscribe_resource=handlers.subscribe if persistent else None,
        on_unsubscribe_resource=handlers.unsubscribe if persistent else None,
        on_subscriptions_listen=handlers.listen,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
    )
    if persistent:
        server.add_notification_handler("notifications/initialized", NotificationParams, handlers.initialized)
    _announce_resource_changes_only(server)
    # Drops the SDK's tracing.
    server.middleware.clear()
    return server


@dataclass(frozen=True, slots=True, kw_only=True)
class Handlers:
    """Handles the requests of the protocol."""

    tools: Mapping[str, Tool]
    context: ContextOf
    limiter: CallLimiter
    changes: ChangeBroadcaster
    progress_seconds: float
    static: Mapping[str, StaticResource]

    def schema_of(self, name: str) -> Mapping[str, Json] | None:
        return self.tools[name].input if name in self.tools else None

    async def list_tools(self, _: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        first = _first_tool(params.cursor if params else None, count=len(self.tools))
        tools = [describe_tool(tool) for tool in list(self.tools.values())[first : first + _PAGE]]
        has_more = first + _PAGE < len(self.tools)
        return ListToolsResult(tools=tools, next_cursor=pack(first + _PAGE) if has_more else None)

    async def call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = self.tools.get(params.name)
        if tool is None:
            raise MCPError(
                INVALID_PARAMS,
                f"there is no tool {display(params.name)}. {did_you_mean(params.name, self.tools)}",
                {"nearest": [*nearest_names(params.name, self.tools)]},
            )
        try:
            return tool_result(await self._call(ctx, tool, params))
        except ScrubjayError as error:
            return tool_result(tool.on_error(error)) if tool.on_error else tool_failure(str(error), error)
        except Exception as error:  # noqa: BLE001 - the edge of the surface: the log gets the trace, the caller a clear answer.
            _log.exception("a tool failed", extra={"fields": {"tool": tool.name}})
            return tool_failure(f"{tool.name} failed: {type(error).__name__}. The daemon's log has the details")

    async def list_resources(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        cursor = (params.cursor if params else None) or ""
        return await self._read(
            ctx, "resources/list", lambda context: resources.list_resources(context, cursor, static=self.static)
        )

    async def list_templates(self, _: Context, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return resources.list_templates()

    async def read_resource(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await self._read(
            ctx,
            "resources/read",
            lambda context: resources.read_resource(context, params.uri, static=self.static),
            uri=params.uri,
        )

    async def initialized(self, ctx: Context, _: NotificationParams) -> None:
        await ctx.lifespan_context.attach(ctx.session, self.changes, space=self.context(ctx).who.space)

    async def subscribe(self, ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
        memory_id = await self._read(
            ctx,
            "resources/subscribe",
            lambda context: resources.resolve_uri(context, params.uri, static=self.static),
            uri=params.uri,
        )
        try:
            ctx.lifespan_context.watch(params.uri, memory_id)
        except ScrubjayError as error:
            raise protocol_error(error) from error
        return EmptyResult()

    async def unsubscribe(self, ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        ctx.lifespan_context.unwatch(params.uri)
        return EmptyResult()

    async def listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        uris = params.notifications.resource_subscriptions or []
        watched = await self._read(
            ctx, "subscriptions/listen", lambda context: resources.resolve_uris(context, uris, static=self.static)
        )
        try:
            context = self.context(ctx)
            return await listen(
                ctx, params, changes=self.changes, space=context.who.space, watched=watched,
                still_allowed=context.still_allowed, caller=context.grant.id,
            )  # fmt: skip
        except ScrubjayError as error:
            raise protocol_error(error) from error

    async def list_prompts(self, _: Context, __: PaginatedRequestParams | None) -> ListPromptsResult:
        return prompts.list_prompts()

    async def get_prompt(self, ctx: Context, params: GetPromptRequestParams) -> GetPromptResult:
        arguments = params.arguments or {}
        return await self._read(ctx, "prompts/get", lambda context: prompts.get_prompt(context, params.name, arguments))

    async def complete(self, ctx: Context, params: CompleteRequestParams) -> CompleteResult:
        return await self._read(
            ctx, "completion/complete", lambda context: prompts.complete(context, params.ref, params.argument)
        )

    async def _call(self, ctx: Context, tool: Tool, params: CallToolRequestParams) -> ToolResult:
        checker = ArgumentChecker(tool.input, tool=tool.name)
        arguments = checker.check(cast("dict[str, Json]", params.arguments or {}))
        context = self._tool_context(ctx)
        # The verbs that the tool calls may need more.
        context.grant.access.require(Access.READ if tool.read_only else Access.AGENT, verb=tool.name)
        try:
            async with self._progress(ctx) as progress:
                work = _call_tool(tool, replace(context, progress=progress), arguments)
                done = await self.limiter.run(tool.name, work, caller=context.grant.id, reads=tool.read_only)
                return reword_remarks(done, tool)
        except ScrubjayError as error:
            raise reword(error if context.who.sees_paths else error.without_places(), tool) from error
        finally:
            if not tool.read_only:
                self.changes.nudge()

    def _tool_context(self, ctx: Context) -> ToolContext:
        """Return the context of a call; its writes belong to the run that the call names."""
        context = self.context(ctx)
        run = (ctx.meta or {}).get(RUN)
        if run is None:
            return context
        if not isinstance(run, str) or len(run) > _MAX_RUN:
            raise InvalidInput(f"_meta {RUN} must be a text of {_MAX_RUN} characters at most", field=RUN)
        return replace(context, who=replace(context.who, run=run))

    def _progress(self, ctx: Context) -> AbstractAsyncContextManager[Progress | None]:
        if (ctx.meta or {}).get("progress_token") is None:
            return nullcontext()
        return report_progress(ctx.session.report_progress, seconds=self.progress_seconds)

    async def _read(self, ctx: Context, verb: str, read: Callable[[ToolContext], Awaitable[T]], **about: str) -> T:
        """Read something within the limits of the caller; `about` goes into the data of an error."""

        async def work(context: ToolContext) -> T:
            context.grant.access.require(Access.READ, verb=verb)
            return await read(context)

        try:
            context = self.context(ctx)
            return await self.limiter.run(verb, work(context), caller=context.grant.id, reads=True)
        except ScrubjayError as error:
            raise protocol_error(error.without_places(), **about) from error


@asynccontextmanager
async def report_progress(send: SendProgress, *, seconds: float) -> AsyncGenerator[Progress]:
    """Send the progress that a tool reports, and a sign of life every `seconds` while it reports none."""
    reporter = _ProgressReporter(send, seconds)
    task = asyncio.create_task(reporter.run())
    try:
        yield reporter.report
        reporter.end()
        await task
    finally:
        await cancel(task)


class _ProgressReporter:
    """Sends only the latest state: a client that reads slowly never delays the work."""

    def __init__(self, send: SendProgress, seconds: float) -> None:
        self._send = send
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._latest: tuple[int, int] | None = None
        self._last_sent = 0.0
        self._has_ended = False

    def report(self, done: int, total: int) -> None:
        if self._latest is None or done > self._latest[0]:
            self._latest = (done, total)
            # A worker thread may call this.
            self._loop.call_soon_threadsafe(self._wake.set)

    def end(self) -> None:
        self._has_ended = True
        self._wake.set()

    async def run(self) -> None:
        is_last = False
        while not is_last:
            if not self._has_ended:
                with suppress(TimeoutError):
                    # Not `wait_for`, which may swallow a cancellation that comes at the same time.
                    async with asyncio.timeout(self._seconds):
                        await self._wake.wait()
            self._wake.clear()
            # Reports that arrive while this one is sent need another round, even at the end.
            is_last = self._has_ended
            if self._latest is not None:
                await self._send_larger(*self._latest, None)
            elif not is_last:
                await self._send_larger(self._last_sent + 1, None, "still at work")

    async def _send_larger(self, done: float, total: float | None, message: str | None) -> None:
        # The protocol requires every number to be larger than the one before.
        if done > self._last_sent:
            self._last_sent = done
            await self._send(done, total, message)


def _announce_resource_changes_only(server: Server[Subscriptions]) -> None:
    """Announce no notifications for tools and prompts: they do not change while a server runs."""

    async def discover(ctx: Context, _: RequestParams) -> DiscoverResult:
        capabilities = server.get_capabilities(protocol_version=ctx.protocol_version)
        return DiscoverResult(
            supported_versions=list(MODERN_PROTOCOL_VERSIONS),
            capabilities=capabilities.model_copy(update={"tools": ToolsCapability(), "prompts": PromptsCapability()}),
            instructions=server.instructions,
        )

    server.add_request_handler("server/discover", RequestParams, discover)


async def _call_tool(tool: Tool, context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    return await tool.call(context, arguments)


def _first_tool(cursor: str | None, *, count: int) -> int:
    """Return the number of the first tool of a page."""
    if not cursor:
        return 0
    try:
        first = int(unpack(cursor, int)[0])
        if not 0 < first < count:
            raise invalid_cursor()
    except InvalidInput as error:
        raise protocol_error(error) from error
    return first
