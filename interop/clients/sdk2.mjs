// The TypeScript SDK since 2.0, which speaks both revisions.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { runJourney } from './journey.mjs';

await runJourney(async ({ era, transport: kind, target }) => {
  const mode = era === '2025-11-25' ? 'legacy' : { pin: era };
  const client = new Client({ name: 'typescript-sdk-2', version: '1' }, { versionNegotiation: { mode } });
  const transport =
    kind === 'http'
      ? new StreamableHTTPClientTransport(new URL(target[0]))
      : new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env });
  await client.connect(transport);
  return {
    client,
    protocol: client.getNegotiatedProtocolVersion(),
    call: (name, input, options) => client.callTool({ name, arguments: input }, options),
    listen: (notification, handler) => client.setNotificationHandler(notification, handler),
  };
});
