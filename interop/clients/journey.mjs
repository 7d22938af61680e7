// What every TypeScript client goes through, in steps; the first that fails ends it.
// node CLIENT.mjs memory|fixture REVISION stdio|http COMMAND… or URL

import assert from 'node:assert/strict';

const NEWER = '2026-07-28';
const PATIENCE = 10_000;
const CORE = ['remember', 'recall', 'read', 'revise', 'forget', 'relate', 'history'];

/**
 * Take the journey that the command line asks for.
 * `connect` answers with a client of one SDK behind the few words in which the SDKs differ:
 * `client`, `protocol` (the revision that is spoken), `call(name, arguments, options)`, `hear(notification, handler)`.
 */
export async function travel(connect) {
  const [part, era, way, ...target] = process.argv.slice(2);
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
    const friend = await step('connect', () => connect({ era, way, target }));
    assert.equal(friend.protocol, era);
    await { memory, fixture }[part]({ ...friend, era, way, step });
    await step('close', () => friend.client.close());
    console.log(JSON.stringify({ steps }));
    process.exit(0);
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

/** From the first fact to its end. */
async function memory({ client, call, hear, era, way, step }) {
  const text = `A TypeScript client came by ${way} and spoke ${era}, as ${process.pid}.`;
  const tell = async (name, given) => {
    const answer = await call(name, given);
    assert.ok(!answer.isError, JSON.stringify(answer));
    return answer.structuredContent;
  };
  await step('introduction', () => assert.equal(client.getServerVersion().name, 'scrubjay'));
  await step('tools/list', async () => assert.deepEqual((await client.listTools()).tools.map((one) => one.name), CORE));
  const { name } = await step('remember', () => tell('remember', { text }));
  const uri = `memory://default/${name}`;
  await step('recall', async () => assert.equal((await tell('recall', { query: text, limit: 1 })).hits[0].passage, text));
  await step('read', async () => assert.match(JSON.stringify(await tell('read', { ids: [name] })), /TypeScript client/));
  await step('a refusal', async () => assert.equal((await call('recall', { limit: 'many' })).isError, true));
  await step('an unknown tool', () => assert.rejects(call('recal', {}), { code: -32602 }));
  await step('resources', async () => {
    const listed = (await client.listResources()).resources.map((one) => one.uri);
    assert.ok(listed.includes(uri), `${uri} is not among ${listed}`);
    assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 1);
    assert.ok((await client.readResource({ uri })).contents[0].text.includes(text));
    await assert.rejects(client.readResource({ uri: 'memory://default/nobody' }));
  });
  await step('prompts', async () => {
    assert.equal((await client.listPrompts()).prompts.length, 4);
    const worded = await client.getPrompt({ name: 'what_do_you_know_about', arguments: { topic: text } });
    assert.ok(worded.messages[0].content.text.includes(text));
  });
  await step('completion', async () => {
    const ref = { type: 'ref/resource', uri: 'memory://{space}/{name}' };
    const found = await client.complete({ ref, argument: { name: 'name', value: name.slice(0, -1) } });
    assert.ok(found.completion.values.includes(name), JSON.stringify(found));
  });
  if (era === NEWER || way === 'stdio') {
    await step('notifications', () => notifications({ client, hear, era, uri, name, tell, text }));
  }
  await step('forget', async () => {
    assert.equal((await tell('forget', { ids: [name] })).count, 1);
    const found = (await tell('recall', { query: text })).hits ?? [];
    assert.ok(!found.some((one) => one.name === name), JSON.stringify(found));
  });
}

/** That a memory has changed, and that there is another one. */
async function notifications({ client, hear, era, uri, name, tell, text }) {
  const updated = heard(hear, 'notifications/resources/updated', (params) => params.uri === uri);
  const listed = heard(hear, 'notifications/resources/list_changed', () => true);
  const filter = { resourcesListChanged: true, resourceSubscriptions: [uri] };
  const stream = era === NEWER ? await client.listen(filter) : await client.subscribeResource({ uri });
  await tell('revise', { id: name, text: `${text} It changed its mind.` });
  await updated;
  await tell('remember', { text: `${text} Another one.` });
  await listed;
  await (era === NEWER ? stream.close() : client.unsubscribeResource({ uri }));
}

/** What takes long: told of while it lasts, and given up when nobody waits for it. */
async function fixture({ call, era, way, step }) {
  const who = `${era}-${way}-${process.pid}`;
  await step('progress', async () => {
    const told = [];
    await call('test_tool_with_progress', {}, { onprogress: (one) => told.push(`${one.progress}/${one.total}`) });
    assert.deepEqual(told, ['10/100', '50/100', '100/100']);
  });
  if (era === NEWER || way === 'stdio') {
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
  await step('what nobody foresaw', async () => {
    assert.equal((await call('test_error_handling', {})).isError, true);
    assert.equal((await call('test_simple_text', {})).structuredContent.said, 'a few words');
  });
}

function heard(hear, notification, isIt) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${notification} did not come`)), PATIENCE);
    hear(notification, ({ params }) => {
      if (isIt(params)) {
        clearTimeout(timer);
        resolve();
      }
    });
  });
}

async function until(isSo) {
  const end = Date.now() + PATIENCE;
  while (!(await isSo())) {
    assert.ok(Date.now() < end, 'it did not happen in time');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
