import { newUuid } from '@runledger/contracts/ids';
import { readRun } from '@runledger/event-log/read/read-run';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { call, post } from '../../fixtures/requests/requests.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

let bed: TestBed;
let gateway: TestGateway;
const queue = (body?: unknown, key: string | null = bed.tenant.key) =>
  post(`${gateway.api}/run/deployment/queue`, key, body);
const get = (id: string, key = bed.tenant.key) => call(`${gateway.api}/run/${id}`, key);
const sample = (fields: object = {}) => ({ deployment_id: bed.tenant.deployment.id, ...fields });
const invalid = async (body: unknown) => {
  const answer = await queue(body);
  expect(answer.status).toBe(422);
  return answer.body.detail;
};

beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
});
afterAll(() => bed[Symbol.asyncDispose]());

describe('queueing a run', () => {
  it('returns the id of a run that is in the log, with the settings of the deployment', async () => {
    const { deployment, machine, version, user_id } = bed.tenant;
    const key = await queueSample(gateway, bed.tenant, { inputs: { size: 64, tags: ['a', 1, null] } });
    const read = await readRun(bed.log, key);
    expect(read).toMatchObject({
      kind: 'found',
      run: {
        status: 'queued',
        request: {
          user_id,
          origin: 'api',
          deployment_id: deployment.id,
          workflow_version_id: version.id,
          workflow_sha256: version.sha256,
          machine_id: machine.id,
          gpu: 'A10G',
          inputs: { size: 64, tags: ['a', 1, null] },
          webhook: null,
          webhook_intermediate_status: false,
          max_attempts: 3,
        },
      },
    });
  });

  it('names the members that it ignores in a header, also of a refusal', async () => {
    const { status, headers } = await queue(sample({ inputz: {}, weebhook: 'x' }));
    expect([status, headers.get('runledger-ignored-members')]).toEqual([200, 'inputz, weebhook']);
    const refused = await queue({ deployment_id: newUuid(), gpus: ['L4'] });
    expect([refused.status, refused.headers.get('runledger-ignored-members')]).toEqual([404, 'gpus']);
    expect((await queue(sample())).headers.has('runledger-ignored-members')).toBe(false);
  });

  it('treats null as an omitted optional field, and ignores unknown fields', async () => {
    const { run_id } = await queueSample(gateway, bed.tenant, {
      inputs: null,
      gpu: null,
      webhook: null,
      webhook_intermediate_status: null,
      idea: { a: null },
    });
    const { body } = await call(`${gateway.api}/run/${run_id}?include=inputs`, bed.tenant.key);
    expect(body).toMatchObject({
      workflow_inputs: {},
      gpu: 'A10G',
      webhook: null,
      webhook_status: null,
      webhook_intermediate_status: false,
    });
  });

  it('prefers the GPU of the request to that of the deployment, and that to the machine’s', async () => {
    const { deployment } = bed.tenant;
    const own = { ...deployment, id: newUuid(), gpu: 'L4' as const };
    await catalogue(bed.log).deployments.put(own);
    const gpuOf = async (fields: object) => {
      const { run_id } = await queueSample(gateway, bed.tenant, fields);
      return (await get(run_id)).body.gpu;
    };
    expect(await gpuOf({})).toBe('A10G');
    expect(await gpuOf({ deployment_id: own.id })).toBe('L4');
    expect(await gpuOf({ deployment_id: own.id, gpu: 'H100' })).toBe('H100');
  });

  it('keeps and shows its priority and concurrency key, which a rerun has too', async () => {
    const { run_id } = await queueSample(gateway, bed.tenant, { priority: -7, concurrency_key: 'user 7' });
    const asked = { priority: -7, concurrency_key: 'user 7' };
    expect((await get(run_id)).body).toMatchObject(asked);
    const again = await post(`${gateway.api}/run/${run_id}/rerun`, bed.tenant.key, {});
    expect((await get(again.body.run_id)).body).toMatchObject(asked);
    const usual = await queueSample(gateway, bed.tenant);
    expect((await get(usual.run_id)).body).toMatchObject({ priority: 0, concurrency_key: null });
  });

  it('keeps and shows a timeout and a deadline within those of the deployment, which are the default', async () => {
    const timesOf = async ({ run_id }: { run_id: string }) => {
      const { run_timeout_s, start_deadline_s } = (await get(run_id)).body;
      return { run_timeout_s, start_deadline_s };
    };
    const { run_timeout_s, start_deadline_s } = bed.tenant.deployment;
    expect(await timesOf(await queueSample(gateway, bed.tenant))).toEqual({
      run_timeout_s,
      start_deadline_s,
    });
    const asked = { run_timeout_s: 0.5, start_deadline_s };
    const queued = await queueSample(gateway, bed.tenant, asked);
    expect(await timesOf(queued)).toEqual(asked);
    const again = await post(`${gateway.api}/run/${queued.run_id}/rerun`, bed.tenant.key, {});
    expect(await timesOf(again.body)).toEqual(asked);
  });

  it('keeps and shows its tags in alphabetical order, each once, which a rerun has too', async () => {
    const tagsOf = async (run_id: string) => (await get(run_id)).body.tags;
    const { run_id } = await queueSample(gateway, bed.tenant, { tags: ['customer:17', 'b', 'b', 'a'] });
    expect(await tagsOf(run_id)).toEqual(['a', 'b', 'customer:17']);
    const again = await post(`${gateway.api}/run/${run_id}/rerun`, bed.tenant.key, {});
    expect(await tagsOf(again.body.run_id)).toEqual(['a', 'b', 'customer:17']);
    expect(await tagsOf((await queueSample(gateway, bed.tenant, { tags: [] })).run_id)).toEqual([]);
  });

  it('is delayed from the time when it is queued, or until a time, which a rerun is not', async () => {
    const { run_id } = await queueSample(gateway, bed.tenant, { delay_s: 90 });
    const delayed = (await get(run_id)).body;
    expect(delayed.status).toBe('queued');
    expect(Date.parse(delayed.start_at) - Date.parse(delayed.created_at)).toBe(90_000);
    const again = await post(`${gateway.api}/run/${run_id}/rerun`, bed.tenant.key, {});
    expect((await get(again.body.run_id)).body.start_at).toBeNull();
    const start_at = '2020-05-01T14:00:00+02:00';
    const past = await queueSample(gateway, bed.tenant, { start_at });
    expect((await get(past.run_id)).body.start_at).toBe('2020-05-01T12:00:00.000Z');
  });

  it('keeps and shows the webhook', async () => {
    const webhook = 'https://example.com/hook?run=1';
    const { run_id } = await queueSample(gateway, bed.tenant, {
      webhook,
      webhook_intermediate_status: true,
    });
    const admin = await aKey(bed.log, bed.tenant, { scopes: ['admin'] });
    expect((await get(run_id, admin)).body).toMatchObject({
      webhook,
      webhook_status: 'not-started',
      webhook_intermediate_status: true,
    });
  });

  it('treats names such as __proto__ as ordinary names', async () => {
    const text = `{"deployment_id":"${bed.tenant.deployment.id}","__proto__":{"gpu":"H100"},"inputs":{"__proto__":["x"],"constructor":1,"$ref":"y","a.b":true}}`;
    const queued = await call(`${gateway.api}/run/deployment/queue`, bed.tenant.key, {
      method: 'POST',
      body: text,
      headers: { 'content-type': 'application/json' },
    });
    expect(queued.status).toBe(200);
    const shown = await fetch(`${gateway.api}/run/${queued.body.run_id}?include=inputs`, {
      headers: { authorization: `Bearer ${bed.tenant.key}` },
    });
    const body = await shown.text();
    expect(body).toContain('"workflow_inputs":{"__proto__":["x"],"constructor":1,"$ref":"y","a.b":true}');
    expect(JSON.parse(body).gpu).toBe('A10G');
  });

  it('answers 404 for a deployment that is unknown or of another organisation, alike, and for an archived one', async () => {
    const { deployment } = bed.tenant;
    const archived = { ...deployment, id: newUuid(), archived: true };
    await catalogue(bed.log).deployments.put(archived);
    const other = await bed.newTenant();
    for (const deployment_id of [newUuid(), other.deployment.id]) {
      const { status, body } = await queue({ deployment_id });
      expect([status, body]).toEqual([404, aRefusal('deployment_not_found', 'Deployment not found')]);
    }
    const { status, body } = await queue({ deployment_id: archived.id });
    expect([status, body]).toEqual([
      404,
      aRefusal('deployment_archived', expect.stringContaining('restore it, or name another one')),
    ]);
  });

  it('refuses a deployment whose machine or version is missing', async () => {
    const { deployment } = bed.tenant;
    const machineless = { ...deployment, id: newUuid(), machine_id: newUuid() };
    const versionless = { ...deployment, id: newUuid(), workflow_version_id: newUuid() };
    await catalogue(bed.log).deployments.put(machineless);
    await catalogue(bed.log).deployments.put(versionless);
    expect((await queue({ deployment_id: machineless.id })).status).toBe(404);
    expect((await queue({ deployment_id: versionless.id })).status).toBe(404);
  });
});

describe('an invalid queue request', () => {
  it('names the missing field', async () => {
    const missing = { loc: ['body', 'deployment_id'], msg: 'This is required: send it', type: 'missing' };
    expect(await invalid({})).toEqual([missing]);
    expect(await invalid(undefined)).toEqual([
      { loc: ['body'], msg: 'This is required: send it', type: 'missing' },
    ]);
  });

  it('gets everything that is wrong in one response', async () => {
    const detail = await invalid({
      deployment_id: 'nonsense',
      inputs: { a: null, b: { c: 1 } },
      webhook: 'ftp://example.com',
      webhook_intermediate_status: 'yes',
      gpu: 'B200',
    });
    expect(detail.map(({ loc, type }: { loc: string[]; type: string }) => [loc.join('.'), type])).toEqual([
      ['body.deployment_id', 'uuid_parsing'],
      ['body.inputs.a', 'string_type'],
      ['body.inputs.b', 'string_type'],
      ['body.webhook', 'url_scheme'],
      ['body.webhook_intermediate_status', 'bool_type'],
      ['body.gpu', 'enum'],
    ]);
    expect(detail.at(-1).msg).toBe("Send 'T4', 'L4', 'A10G', 'L40S', 'A100', 'A100-80GB' or 'H100'");
  });

  it('learns which setting of the deployment a value exceeds, with everything else that is wrong', async () => {
    const { deployment } = bed.tenant;
    const bounded = {
      ...deployment,
      id: newUuid(),
      run_timeout_s: 60,
      start_deadline_s: 30,
      bounds: { min_priority: -1, max_priority: 5 },
    };
    await catalogue(bed.log).deployments.put(bounded);
    const of = { deployment_id: bounded.id };
    const within = { ...of, run_timeout_s: 60, start_deadline_s: 30 };
    for (const priority of [-1, 5]) expect((await queue({ ...within, priority })).status).toBe(200);
    const detail = await invalid({ ...of, run_timeout_s: 60.5, start_deadline_s: 31, priority: 6 });
    expect(
      detail.map(({ loc, type, msg }: { loc: string[]; type: string; msg: string }) => [
        loc.join('.'),
        type,
        msg,
      ]),
    ).toEqual([
      [
        'body.priority',
        'less_than_equal',
        expect.stringContaining('Send 5 or less, as `bounds.max_priority` of the deployment says'),
      ],
      [
        'body.run_timeout_s',
        'less_than_equal',
        expect.stringContaining('Send 60 or less, as `run_timeout_s` of'),
      ],
      [
        'body.start_deadline_s',
        'less_than_equal',
        expect.stringContaining('Send 30 or less, as `start_deadline_s` of'),
      ],
    ]);
    const [low] = await invalid({ ...of, priority: -2 });
    expect([low.type, low.msg]).toEqual([
      'greater_than_equal',
      expect.stringContaining('Send -1 or more, as `bounds.min_priority` of'),
    ]);
  });

  it.each([
    [[], 'body', 'model_attributes_type'],
    ['text', 'body', 'model_attributes_type'],
    [null, 'body', 'model_attributes_type'],
    [{ deployment_id: 5 }, 'body.deployment_id', 'uuid_type'],
    [{ deployment_id: null }, 'body.deployment_id', 'uuid_type'],
    [{ deployment_id: '' }, 'body.deployment_id', 'uuid_parsing'],
    [{ inputs: [] }, 'body.inputs', 'dict_type'],
    [{ inputs: 'a' }, 'body.inputs', 'dict_type'],
    [{ inputs: { ['n'.repeat(257)]: 1 } }, `body.inputs.${'n'.repeat(256)}.[key]`, 'string_too_long'],
    [{ webhook: 5 }, 'body.webhook', 'url_type'],
    [{ webhook: '/hook' }, 'body.webhook', 'url_parsing'],
    [{ webhook: 'http://me:secret@a/' }, 'body.webhook', 'value_error'],
    [{ webhook: 'http://a/#' }, 'body.webhook', 'value_error'],
    [{ webhook: `http://a/${'x'.repeat(2048)}` }, 'body.webhook', 'url_too_long'],
    [{ webhook: `http://a/${'語'.repeat(700)}` }, 'body.webhook', 'url_too_long'],
    [{ webhook_intermediate_status: 1 }, 'body.webhook_intermediate_status', 'bool_type'],
    [{ gpu: 5 }, 'body.gpu', 'enum'],
    [{ concurrency_key: '' }, 'body.concurrency_key', 'string_pattern_mismatch'],
    [{ concurrency_key: 'ü' }, 'body.concurrency_key', 'string_pattern_mismatch'],
    [{ concurrency_key: 'x'.repeat(65) }, 'body.concurrency_key', 'string_pattern_mismatch'],
    [{ priority: 101 }, 'body.priority', 'less_than_equal'],
    [{ priority: -101 }, 'body.priority', 'greater_than_equal'],
    [{ priority: 0.5 }, 'body.priority', 'int_from_float'],
    [{ run_timeout_s: 0 }, 'body.run_timeout_s', 'greater_than'],
    [{ start_deadline_s: 'soon' }, 'body.start_deadline_s', 'float_type'],
    [{ tags: ['two words'] }, 'body.tags.0', 'string_pattern_mismatch'],
    [{ tags: ['ü'] }, 'body.tags.0', 'string_pattern_mismatch'],
    [{ tags: ['a', ''] }, 'body.tags.1', 'string_pattern_mismatch'],
    [{ tags: ['a', 'x'.repeat(65)] }, 'body.tags.1', 'string_pattern_mismatch'],
    [{ tags: 'a' }, 'body.tags', 'list_type'],
    [{ tags: Array.from({ length: 17 }, (_, i) => `t${i}`) }, 'body.tags', 'too_long'],
    [{ delay_s: -1 }, 'body.delay_s', 'greater_than_equal'],
    [{ start_at: '2026-05-01' }, 'body.start_at', 'datetime_parsing'],
    [{ start_at: '2026-05-01T12:00:00' }, 'body.start_at', 'datetime_parsing'],
    [{ start_at: 'tomorrow' }, 'body.start_at', 'datetime_parsing'],
    [{ delay_s: 0, start_at: '2026-05-01T12:00:00Z' }, 'body.start_at', 'value_error'],
    [{ gpu: 'a10g' }, 'body.gpu', 'enum'],
    [{ gpu: 'toString' }, 'body.gpu', 'enum'],
  ])('%j: %s is %s', async (fields, where, type) => {
    const isObject = typeof fields === 'object' && fields !== null && !Array.isArray(fields);
    const detail = await invalid(isObject ? sample(fields) : fields);
    expect(detail).toHaveLength(1);
    expect([detail[0].loc.join('.'), detail[0].type]).toEqual([where, type]);
    expect(detail[0].msg).toMatch(/\w/);
  });

  it('may nest an input at most 32 levels', async () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
    expect((await queue(sample({ inputs: { deep: nested(32) } }))).status).toBe(200);
    const [problem] = await invalid(sample({ inputs: { deep: nested(33) } }));
    expect([problem.loc, problem.type]).toEqual([['body', 'inputs', 'deep'], 'json_invalid']);
  });

  it('may have at most 256 inputs and 256 KiB of inputs', async () => {
    const inputs = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`i${i}`, 1]));
    expect((await queue(sample({ inputs: inputs(256) }))).status).toBe(200);
    const many = await queue(sample({ inputs: inputs(257) }));
    expect([many.status, many.body]).toEqual([
      413,
      aRefusal('too_many_inputs', 'A run may have at most 256 inputs'),
    ]);
    const room = 256 * 1024 - '{"text":""}'.length;
    expect((await queue(sample({ inputs: { text: 'x'.repeat(room) } }))).status).toBe(200);
    expect((await queue(sample({ inputs: { text: 'x'.repeat(room + 1) } }))).status).toBe(413);
    expect((await queue(sample({ inputs: { text: 'ü'.repeat(room / 2 + 1) } }))).status).toBe(413);
  });
});
