import { MAX_INPUTS_BYTES } from '@runledger/contracts/limits';
import { numberOf } from '@runledger/contracts/exact-number';
import { catalogue as catalogueOf } from '../../../src/records/catalogue/catalogue.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  aCatalogueApi,
  aDeploymentWith,
  wrongIn,
  type CatalogueApi,
  type Client,
} from '../../records/catalogue/a-catalogue.ts';
import { post, postKeyed, type ApiAnswer } from '../../fixtures/requests/requests.ts';

let catalogue: CatalogueApi;
let admin: Client;
let key: string;
beforeAll(async () => {
  catalogue = await aCatalogueApi();
  admin = await catalogue.admin();
  ({ key } = catalogue.bed.tenant);
});
afterAll(() => catalogue[Symbol.asyncDispose]());

const DEFINITIONS = [
  { name: 'prompt', type: 'string', required: true },
  { name: 'steps', type: 'integer', default: 20, minimum: 1, maximum: 50 },
  { name: 'sampler', type: 'string', default: 'euler', enum: ['euler', 'ddim'] },
  { name: 'strength', type: 'number', maximum: 1 },
  { name: 'tiled', type: 'boolean' },
  { name: 'tags', type: 'array', default: ['a'] },
];

const aDeployment = (inputs: readonly object[] = DEFINITIONS) => aDeploymentWith(admin, inputs);
const queue = (request: object): Promise<ApiAnswer> =>
  post(`${catalogue.api}/run/deployment/queue`, key, request);
const inputsOf = async ({ body }: ApiAnswer) =>
  (await admin.get(`/run/${body.run_id}?include=inputs`)).body.workflow_inputs;

describe('inputs that a version defines', () => {
  it('get the defaults of those that are left out; names without a definition are passed on', async () => {
    const { deployment_id } = await aDeployment();
    const inputs = { prompt: 'a fox', steps: 30, 'not defined': [1] };
    expect(await inputsOf(await queue({ deployment_id, inputs }))).toEqual({
      ...inputs,
      sampler: 'euler',
      tags: ['a'],
    });
  });

  const WARNING = 'runledger-warning';

  it('are all that there are: a response warns of others, with the name that is probably meant', async () => {
    const { deployment_id } = await aDeployment();
    const { headers } = await queue({ deployment_id, inputs: { prompt: 'x', stebs: 1, 'ü, b': 2 } });
    expect(headers.get(WARNING)).toBe(
      'unknown input "stebs" is passed to the workflow; did you mean "steps"?, unknown input "%C3%BC%2C%20b" is passed to the workflow',
    );
    const known = await queue({ deployment_id, inputs: { prompt: 'x' } });
    expect([known.status, known.headers.get(WARNING)]).toEqual([200, null]);
    const undefining = await aDeployment([]);
    const free = await queue({ deployment_id: undefining.deployment_id, inputs: { anything: 1 } });
    expect([free.status, free.headers.get(WARNING)]).toEqual([200, null]);
  });

  it('are all that a strict request, or a strict deployment, may have', async () => {
    const { deployment_id } = await aDeployment();
    const inputs = { prompt: 'x', stebs: 1, other: 2 };
    const refused = [
      {
        loc: ['body', 'inputs', 'stebs'],
        type: 'extra_forbidden',
        msg: 'This is unknown here: leave it out; did you mean "steps"?',
      },
      {
        loc: ['body', 'inputs', 'other'],
        type: 'extra_forbidden',
        msg: 'This is unknown here: leave it out',
      },
    ];
    const strict = await queue({ deployment_id, inputs, strict_inputs: true });
    expect([strict.status, strict.body.detail]).toEqual([422, refused]);
    expect((await queue({ deployment_id, inputs })).status).toBe(200);

    const path = `/deployments/${deployment_id}`;
    expect((await admin.get(path)).body.strict_inputs).toBe(false);
    expect((await admin.patch(path, { strict_inputs: true })).body.strict_inputs).toBe(true);
    for (const request of [{}, { strict_inputs: false }]) {
      const { status, body } = await queue({ deployment_id, inputs, ...request });
      expect([status, body.detail]).toEqual([422, refused]);
    }
    expect((await queue({ deployment_id, inputs: { prompt: 'x' } })).status).toBe(200);
    const schedule = { name: 's', cron: '@daily', deployment_id, inputs };
    expect(wrongIn(await admin.post('/schedules', schedule))).toEqual([
      ['inputs.stebs', 'extra_forbidden'],
      ['inputs.other', 'extra_forbidden'],
    ]);
    await admin.patch(path, { strict_inputs: false });
    expect((await queue({ deployment_id, inputs })).status).toBe(200);
  });

  it('are refused in the form of the API, each with its name', async () => {
    const { deployment_id } = await aDeployment();
    const wrong = { steps: 51, sampler: 'heun', strength: '0.5', tiled: 1, tags: 'a' };
    const { status, body } = await queue({ deployment_id, inputs: wrong });
    expect(status).toBe(422);
    expect(body.detail).toEqual([
      { loc: ['body', 'inputs', 'prompt'], type: 'missing', msg: 'This is required: send it' },
      {
        loc: ['body', 'inputs', 'steps'],
        type: 'less_than_equal',
        msg: 'Send 50 or less',
      },
      { loc: ['body', 'inputs', 'sampler'], type: 'enum', msg: "Send 'euler' or 'ddim'" },
      { loc: ['body', 'inputs', 'strength'], type: 'float_type', msg: 'Send a number' },
      { loc: ['body', 'inputs', 'tiled'], type: 'bool_type', msg: 'Send true or false' },
      { loc: ['body', 'inputs', 'tags'], type: 'list_type', msg: 'Send a list' },
    ]);
  });

  it.each([
    [{ prompt: 5 }, 'prompt', 'string_type'],
    [{ prompt: 'x', steps: 2.5 }, 'steps', 'int_from_float'],
    [{ prompt: 'x', steps: 'many' }, 'steps', 'int_type'],
    [{ prompt: 'x', steps: 0 }, 'steps', 'greater_than_equal'],
  ])('%j: %s is %s', async (inputs, name, type) => {
    const { deployment_id } = await aDeployment();
    expect(wrongIn(await queue({ deployment_id, inputs }))).toEqual([[`inputs.${name}`, type]]);
  });

  it('have seeds of 64 bits, which are compared and passed on exactly', async () => {
    const [largest, odd] = ['18446744073709551615', '9007199254740993'];
    const seed = { name: 'seed', type: 'integer', maximum: numberOf(largest), default: numberOf(odd) };
    const { deployment_id, version_id } = await aDeployment([seed]);
    const exactly = async (path: string, accept: string): Promise<string> =>
      (
        await fetch(`${catalogue.api}${path}`, { headers: { authorization: `Bearer ${key}`, accept } })
      ).text();
    for (const [inputs, digits] of [
      [{}, odd],
      [{ seed: numberOf('6687881544318117707') }, '6687881544318117707'],
      [{ seed: largest }, largest],
    ] as const) {
      const { body } = await queue({ deployment_id, inputs });
      const run = `/run/${body.run_id}?include=inputs`;
      // Whoever reads doubles gets a text.
      expect(await exactly(run, '*/*')).toContain(`"workflow_inputs":{"seed":"${digits}"}`);
      expect(await exactly(run, 'application/json; numbers=exact')).toContain(
        `"workflow_inputs":{"seed":${digits}}`,
      );
    }
    expect(
      (await queue({ deployment_id, inputs: { seed: '18446744073709551616' } })).body.detail,
    ).toMatchObject([{ msg: `Send ${largest} or less` }]);
    const { workflow_id } = (await admin.get(`/deployments/${deployment_id}`)).body;
    const { body } = await admin.get(`/workflows/${workflow_id}/versions/${version_id}`);
    expect(body.inputs).toMatchObject([{ maximum: largest, default: odd }]);
    // What an answer shows can be sent again.
    const again = await aDeployment(body.inputs);
    expect((await queue({ deployment_id: again.deployment_id, inputs: {} })).status).toBe(200);
  });

  it('keep the form of their numbers where the workflow can tell it', async () => {
    const { deployment_id } = await aDeployment([
      { name: 'cfg', type: 'number' },
      { name: 'steps', type: 'integer' },
    ]);
    const inputs = { cfg: numberOf('4.0'), steps: numberOf('2E1'), other: [numberOf('-0'), numberOf('1E5')] };
    const { body } = await queue({ deployment_id, inputs, priority: numberOf('0.0') });
    const run = await fetch(`${catalogue.api}/run/${body.run_id}?include=inputs`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(await run.text()).toContain('"workflow_inputs":{"cfg":4.0,"steps":20,"other":[-0,1E5]}');
  });

  it('are refused together with a forbidden callback', async () => {
    const { deployment_id } = await aDeployment();
    catalogue.bed.dns.set('hooks.example', ['10.0.0.1']);
    const webhook = 'https://hooks.example/';
    const wrong = wrongIn(await queue({ deployment_id, webhook }));
    expect(wrong).toEqual([
      ['inputs.prompt', 'missing'],
      ['webhook', 'value_error'],
    ]);
  });

  it('are compared without the defaults when a request is repeated with its key', async () => {
    const { deployment_id } = await aDeployment();
    const queueAs = (name: string, inputs: object) =>
      postKeyed(`${catalogue.api}/run/deployment/queue`, key, name, { deployment_id, inputs });
    const [right, wrong] = [{ prompt: 'a fox' }, { prompt: 5 }];
    const [first, again] = [await queueAs('fox', right), await queueAs('fox', right)];
    expect([first.status, again.body]).toEqual([200, first.body]);
    expect((await queueAs('fox', wrong)).status).toBe(409);
    expect((await queueAs('refused', wrong)).status).toBe(422);
    expect((await queueAs('refused', right)).status).toBe(200);
  });

  it('are checked again in a rerun with other inputs, and kept in one without', async () => {
    const { deployment_id } = await aDeployment();
    const origin = await queue({ deployment_id, inputs: { prompt: 'a fox', steps: 2 } });
    const rerun = (body?: object) => post(`${catalogue.api}/run/${origin.body.run_id}/rerun`, key, body);
    expect(await inputsOf(await rerun())).toEqual(await inputsOf(origin));
    expect(await inputsOf(await rerun({ inputs: { prompt: 'a cat' } }))).toMatchObject({
      prompt: 'a cat',
      steps: 20,
    });
    expect(wrongIn(await rerun({ inputs: { steps: 0 } }))).toEqual([
      ['inputs.prompt', 'missing'],
      ['inputs.steps', 'greater_than_equal'],
    ]);
  });

  it('may not become too large by the defaults', async () => {
    const { deployment_id } = await aDeployment([
      { name: 'text', type: 'string' },
      { name: 'more', type: 'string', default: 'x'.repeat(1_000) },
    ]);
    const room = MAX_INPUTS_BYTES - '{"text":""}'.length;
    const { status, body } = await queue({ deployment_id, inputs: { text: 'x'.repeat(room) } });
    expect([status, body.detail]).toEqual([413, expect.stringContaining('With the defaults')]);
    const small = await queue({ deployment_id, inputs: { text: 'x'.repeat(room - 1_100) } });
    expect(small.status).toBe(200);
  });

  it('are checked without reading the version for each run', async () => {
    const { deployment_id, version_id } = await aDeployment();
    expect((await queue({ deployment_id, inputs: { prompt: 'one' } })).status).toBe(200);
    const { log, tenant } = catalogue.bed;
    const version = await catalogueOf(log).versions.get(tenant.org_id, version_id);
    const filter = `$KV.CATALOGUE.workflow_versions.${tenant.org_id}.${version?.workflow_id}.*`;
    expect((await log.jsm.streams.purge('KV_CATALOGUE', { filter })).purged).toBe(1);
    expect((await queue({ deployment_id, inputs: { prompt: 'two' } })).status).toBe(200);
    expect((await queue({ deployment_id })).status).toBe(422);
  });
});
