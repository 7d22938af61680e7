// The TypeScript SDK before 2.0.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

import { runJourney } from './journey.mjs';

const SCHEMAS = {
  'notifications/resources/list_changed': ResourceListChangedNotificationSchema,
  'notifications/resources/updated': ResourceUpdatedNotificationSchema,
};

await runJourney(async ({ transport: kind, target }) => {
  const client = new Client({ name: 'typescript-sdk-1', version: '1' });
  const transport =
    kind === 'http'
      ? new StreamableHTTPClientTransport(new URL(target[0]))
      : new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env });
  let protocol;
  const note = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    protocol = version;
    note?.(version);
  };
  await client.connect(transport);
  return {
    client,
    protocol,
    call: (name, input, options) => client.callTool({ name, arguments: input }, undefined, options),
    listen: (notification, handler) => client.setNotificationHandler(SCHEMAS[notification], handler),
  };
});
