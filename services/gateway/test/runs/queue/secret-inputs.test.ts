import { createHash, randomBytes } from 'node:crypto';
import { newAttemptKeys, signAttempt } from '@runledger/contracts/attempt-token';
import { orgId, runId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { assigned, started, succeeded } from '@runledger/testing/run-events';
import { beforeAll, beforeEach, describe, expect, it, afterAll } from 'vitest';
import { readRun } from '@runledger/event-log/read/read-run';
import { DEFAULT_OPTIONS } from '../../../src/runs/facts/request-bounds.decide.ts';
import { runIdentity } from '../../../src/runs/facts/accept-run.ts';
import {
  aCatalogueApi,
  aDeploymentWith,
  wrongIn,
  type CatalogueApi,
  type Client,
} from '../../records/catalogue/a-catalogue.ts';
import { call, post, postKeyed, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { readToEnd } from '../subscribe/an-event-source.ts';

let catalogue: CatalogueApi;
let admin: Client;
let key: string;
let deployment_id: string;
beforeAll(async () => {
  catalogue = await aCatalogueApi();
  admin = await catalogue.admin();
  ({ key } = catalogue.bed.tenant);
});
afterAll(() => catalogue[Symbol.asyncDispose]());

const DEFINITIONS = [
  { name: 'prompt', type: 'string', required: true },
  { name: 'api_key', type: 'string', required: true, secret: true },
  { name: 'password', type: 'string', secret: true },
];

const newVersion = async (inputs: readonly object[]): Promise<ApiAnswer> => {
  const { body: workflow } = await admin.post('/workflows', { name: 'secretive' });
  return admin.post(`/workflows/${workflow.id}/versions`, { workflow: {}, inputs });
};
const queue = (inputs: object, idempotencyKey?: string): Promise<ApiAnswer> => {
  const request = { deployment_id, inputs };
  const path = `${catalogue.api}/run/deployment/queue`;
  return idempotencyKey === undefined
    ? post(path, key, request)
    : postKeyed(path, key, idempotencyKey, request);
};
const runOf = ({ status, body }: ApiAnswer): RunKey => {
  if (status !== 200) throw new Error(`it answered ${status}: ${JSON.stringify(body)}`);
  return { org_id: orgId(catalogue.bed.tenant.org_id), run_id: runId(body.run_id) };
};
const rerun = async ({ run_id }: RunKey, inputs?: object): Promise<ApiAnswer> =>
  post(`${catalogue.api}/run/${run_id}/rerun`, key, inputs && { inputs });
const shownInputs = async ({ run_id }: RunKey): Promise<unknown> =>
  (await admin.get(`/run/${run_id}?include=inputs`)).body.workflow_inputs;
const requestOf = async (run: RunKey) => {
  const read = await readRun(catalogue.bed.log, run);
  if (read.kind !== 'found') throw new Error(read.kind);
  return read.run.request;
};

/** What the executor of the first attempt gets. */
const fetched = async (run: RunKey, origin = new URL(catalogue.api).origin) => {
  const keys = await newAttemptKeys();
  await appendAll(catalogue.bed.log, assigned(run, { publicKey: keys.publicKey }));
  const url = `${origin}/executions/${run.org_id}/${run.run_id}/1/assignment`;
  const authorization = `Bearer ${await signAttempt(keys, run, 1)}`;
  const { status, body } = await call(url, null, { headers: { authorization } });
  return { status, body, secrets: body.secret_inputs, url, authorization };
};

/** All that the broker has, as one text. */
const everythingStored = async (): Promise<string> => {
  const { log } = catalogue.bed;
  const texts: string[] = [];
  for (const stream of ['RUNS', 'BLOBS', 'ACTIVITY', 'LOGS', 'DEAD_LETTERS', 'KV_CATALOGUE']) {
    const { state } = await log.jsm.streams.info(stream);
    for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq += 1) {
      const message = await log.jsm.streams.getMessage(stream, { seq }).catch(() => null);
      if (message) texts.push(message.subject, new TextDecoder().decode(message.data));
    }
  }
  return texts.join('\n');
};

describe('a secret input', () => {
  beforeAll(async () => {
    ({ deployment_id } = await aDeploymentWith(admin, DEFINITIONS));
  });
  const secret = `sk-${randomBytes(12).toString('hex')}`;
  let inputs: { readonly prompt: string; readonly api_key: string };
  beforeEach(() => {
    inputs = { prompt: 'a fox', api_key: secret };
  });

  it('is stored nowhere, shown to nobody, and given to the executor of the attempt', async () => {
    const small = runOf(await queue(inputs));
    const large = runOf(await queue({ ...inputs, prompt: 'x'.repeat(6_000), password: `${secret} again` }));
    const stored = await everythingStored();
    expect(stored).toContain('a fox');
    for (const form of [secret, Buffer.from(secret).toString('base64').replace(/=+$/, '')])
      expect(stored).not.toContain(form);
    expect(await shownInputs(small)).toEqual({ prompt: 'a fox', api_key: null });
    expect(await shownInputs(large)).toMatchObject({ api_key: null, password: null });
    const list = await admin.get('/runs?include=inputs');
    expect(JSON.stringify(list.body)).not.toContain(secret);
    expect(await fetched(small)).toMatchObject({ status: 200, secrets: { api_key: secret } });
    const { secrets, url, authorization } = await fetched(large);
    expect(secrets).toEqual({ api_key: secret, password: `${secret} again` });
    expect((await fetch(url, { headers: { authorization: `Bearer ${key}` } })).status).toBe(401);
    await appendAll(catalogue.bed.log, started(large), succeeded(large, []));
    expect((await fetch(url, { headers: { authorization } })).status).toBe(409);
    const events = await readToEnd(`${catalogue.api}/run/${large.run_id}/events`, key);
    expect(JSON.stringify(events.facts())).not.toContain(secret);
  });

  it('is kept by a rerun, also beside other inputs, and can be replaced', async () => {
    const run = runOf(await queue({ ...inputs, password: 'first password' }));
    const same = runOf(await rerun(run));
    expect((await requestOf(same)).inputs).toEqual((await requestOf(run)).inputs);
    const kept = runOf(await rerun(same, { prompt: 'a hare', password: 'another one' }));
    expect(await shownInputs(kept)).toEqual({ prompt: 'a hare', api_key: null, password: null });
    expect((await fetched(same)).secrets).toEqual({ api_key: secret, password: 'first password' });
    expect((await fetched(kept)).secrets).toEqual({ api_key: secret, password: 'another one' });
    expect(wrongIn(await queue({ prompt: 'a fox', api_key: null }))).toEqual([
      ['inputs.api_key', 'string_type'],
    ]);
  });

  it('is compared by its value when a request is repeated, and its hash tells nothing', async () => {
    const name = randomBytes(8).toString('hex');
    const first = runOf(await queue(inputs, name));
    expect(runOf(await queue(inputs, name))).toEqual(first);
    expect((await queue({ ...inputs, api_key: 'another key' }, name)).status).toBe(409);
    const requested = {
      kind: 'queue',
      request: {
        deployment_id,
        inputs,
        webhook: null,
        webhook_intermediate_status: false,
        gpu: null,
        ...DEFAULT_OPTIONS,
      },
    } as const;
    const identity = runIdentity(first.org_id, name, requested);
    const { idempotency } = await requestOf(first);
    expect(identity).toMatchObject({ kind: 'of_key', run_id: first.run_id });
    expect(idempotency?.request_sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(idempotency).not.toMatchObject({ request_sha256: Object(identity).request_sha256 });
    expect(await everythingStored()).not.toContain(createHash('sha256').update(secret).digest('hex'));
  });

  it('has 4 to 4,096 characters', async () => {
    for (const [api_key, type] of [
      ['abc', 'string_too_short'],
      ['x'.repeat(4_097), 'string_too_long'],
    ])
      expect(wrongIn(await queue({ ...inputs, api_key }))).toEqual([['inputs.api_key', type]]);
    const [shortest, longest] = ['abcd', '語'.repeat(4_096)];
    for (const api_key of [shortest, longest])
      expect((await fetched(runOf(await queue({ ...inputs, api_key })))).secrets).toEqual({ api_key });
  });

  it('cannot be opened without its key: the attempt learns it, a rerun asks for it, and others go on', async () => {
    const run = runOf(await queue(inputs, 'before the key was lost'));
    const environment = { RUNLEDGER_SECRET_KEYS: randomBytes(32).toString('base64') };
    const other = await catalogue.bed.gateway({ environment });
    expect(await fetched(run, other.url)).toMatchObject({
      status: 424,
      body: { detail: expect.stringContaining('RUNLEDGER_SECRET_KEYS'), code: 'secret_inputs_unreadable' },
    });
    const again = await post(`${other.api}/run/${run.run_id}/rerun`, key, {
      inputs: { prompt: 'a hare' },
    });
    expect(wrongIn(again)).toEqual([['inputs.api_key', 'missing']]);
    const path = `${other.api}/run/deployment/queue`;
    const repeated = { deployment_id, inputs };
    expect((await postKeyed(path, key, 'before the key was lost', repeated)).status).toBe(409);
    expect((await call(`${other.api}/run/${run.run_id}?include=inputs`, key)).body.workflow_inputs).toEqual({
      prompt: 'a fox',
      api_key: null,
    });
  });

  it('is a text without a default and a list of values, and its definition says so', async () => {
    expect((await newVersion(DEFINITIONS)).body.inputs[1]).toEqual({ ...DEFINITIONS[1] });
    const wrong = [
      { name: 'pin', type: 'integer', secret: true },
      { name: 'token', type: 'string', secret: true, default: 'public' },
      { name: 'level', type: 'string', secret: true, enum: ['high', 'highest'] },
    ];
    expect(wrongIn(await newVersion(wrong))).toEqual([
      ['inputs.0.secret', 'value_error'],
      ['inputs.1.default', 'value_error'],
      ['inputs.2.enum', 'value_error'],
    ]);
    const many = Array.from({ length: 5 }, (_, n) => ({
      name: `${n}${'x'.repeat(70)}`,
      type: 'string',
      secret: true,
    }));
    expect(wrongIn(await newVersion(many))).toEqual([['inputs.4.name', 'value_error']]);
  });
});
