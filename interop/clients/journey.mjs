// The steps of every TypeScript client; the first failure ends the run.
// node CLIENT.mjs memory|fixture REVISION stdio|http COMMAND… or URL

import assert from 'node:assert/strict';

const NEWER = '2026-07-28';
const PATIENCE = 10_000;
const CORE = ['remember', 'recall', 'read', 'revise', 'forget', 'relate', 'history'];

/**
 * Run the journey that the command line names.
 * `connect` returns a client behind the functions in which the SDKs differ:
 * `client`, `protocol` (the revision in use), `call(name, arguments, options)`, `listen(notification, handler)`.
 */
export async function runJourney(connect) {
  const [part, era, transport, ...target] = process.argv.slice(2);
  const steps = [];
  const step = async (name, work) => {
    try {
      const answer = await work();
      steps.push(name);
      return answer;
    } catch (error) {
      throw new Error(`${name}: ${error.stack ?? error}`, { cause: error });
    }
  };
  try {
    const connection = await step('connect', () => connect({ era, transport, target }));
    assert.equal(connection.protocol, era);
    await { memory, fixture }[part]({ ...connection, era, transport, step });
    await step('close', () => connection.client.close());
    console.log(JSON.stringify({ steps }));
    process.exit(0);
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

/** The life of a memory, from `remember` to `forget`. */
async function memory({ client, call, listen, era, transport, step }) {
  const text = `A TypeScript client came by ${transport} and spoke ${era}, as ${process.pid}.`;
  const use = async (name, input) => {
    const answer = await call(name, input);
    assert.ok(!answer.isError, JSON.stringify(answer));
    return answer.structuredContent;
  };
  await step('introduction', () => assert.equal(client.getServerVersion().name, 'scrubjay'));
  await step('tools/list', async () => assert.deepEqual((await client.listTools()).tools.map((tool) => tool.name), CORE));
  const { name } = await step('remember', () => use('remember', { text }));
  const uri = `memory://default/${name}`;
  await step('recall', async () => {
    // What another journey wrote at the same time disputes it, and the newer statement comes first.
    const { hits } = await use('recall', { query: text, limit: 4 });
    assert.ok(hits.some(({ passage }) => passage === text), JSON.stringify(hits));
  });
  await step('read', async () => assert.match(JSON.stringify(await use('read', { ids: [name] })), /TypeScript client/));
  await step('a refusal', async () => assert.equal((await call('recall', { limit: 'many' })).isError, true));
  await step('an unknown tool', () => assert.rejects(call('recal', {}), { code: -32602 }));
  await step('resources', async () => {
    const listed = (await client.listResources()).resources.map((resource) => resource.uri);
    assert.ok(listed.includes(uri), `${uri} is not among ${listed}`);
    assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 1);
    assert.ok((await client.readResource({ uri })).contents[0].text.includes(text));
    await assert.rejects(client.readResource({ uri: 'memory://default/missing' }));
  });
  await step('prompts', async () => {
    assert.equal((await client.listPrompts()).prompts.length, 4);
    const prompt = await client.getPrompt({ name: 'what_do_you_know_about', arguments: { topic: text } });
    assert.ok(prompt.messages[0].content.text.includes(text));
  });
  await step('completion', async () => {
    const ref = { type: 'ref/resource', uri: 'memory://{space}/{name}' };
    const answer = await client.complete({ ref, argument: { name: 'name', value: name.slice(0, -1) } });
    assert.ok(answer.completion.values.includes(name), JSON.stringify(answer));
  });
  if (era === NEWER || transport === 'stdio') {
    await step('notifications', () => notifications({ client, listen, era, uri, name, use, text }));
  }
  await step('forget', async () => {
    assert.equal((await use('forget', { ids: [name] })).count, 1);
    const hits = (await use('recall', { query: text })).hits ?? [];
    assert.ok(!hits.some((hit) => hit.name === name), JSON.stringify(hits));
  });
}

/** Notifications of a changed memory and of a new one. */
async function notifications({ client, listen, era, uri, name, use, text }) {
  const updated = received(listen, 'notifications/resources/updated', (params) => params.uri === uri);
  const listed = received(listen, 'notifications/resources/list_changed', () => true);
  const filter = { resourcesListChanged: true, resourceSubscriptions: [uri] };
  const stream = era === NEWER ? await client.listen(filter) : await client.subscribeResource({ uri });
  await use('revise', { id: name, text: `${text} It changed its mind.` });
  await updated;
  await use('remember', { text: `${text} Another one.` });
  await listed;
  await (era === NEWER ? stream.close() : client.unsubscribeResource({ uri }));
}

/** Long calls: progress and cancellation. */
async function fixture({ call, era, transport, step }) {
  const who = `${era}-${transport}-${process.pid}`;
  await step('progress', async () => {
    const reports = [];
    await call('test_tool_with_progress', {}, { onprogress: (report) => reports.push(`${report.progress}/${report.total}`) });
    assert.deepEqual(reports, ['10/100', '50/100', '100/100']);
  });
  if (era === NEWER || transport === 'stdio') {
    await step('cancellation', async () => {
      const leave = new AbortController();
      const waiting = call('wait', { who }, { signal: leave.signal });
      const refused = assert.rejects(waiting);
      await until(async () => (await call('state_of_wait', { who })).structuredContent.state === 'waiting');
      leave.abort();
      await refused;
      await until(async () => (await call('state_of_wait', { who })).structuredContent.state === 'given up');
    });
  }
  await step('unexpected error', async () => {
    assert.equal((await call('test_error_handling', {})).isError, true);
    assert.equal((await call('test_simple_text', {})).structuredContent.text, 'a few words');
  });
}

function received(listen, notification, matches) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${notification} did not come`)), PATIENCE);
    listen(notification, ({ params }) => {
      if (matches(params)) {
        clearTimeout(timer);
        resolve();
      }
    });
  });
}

async function until(condition) {
  const end = Date.now() + PATIENCE;
  while (!(await condition())) {
    assert.ok(Date.now() < end, 'the state did not change in time');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
