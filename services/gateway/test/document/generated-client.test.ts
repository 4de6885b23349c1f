import type { AxiosError } from 'axios';
import { OpenAPIClientAxios, type Document } from 'openapi-client-axios';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestGateway } from '../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../fixtures/gateway/test-bed.ts';
import { call } from '../fixtures/requests/requests.ts';
import { aRefusal } from '../fixtures/requests/a-refusal.ts';

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({ projecting: true });
});
afterAll(() => bed[Symbol.asyncDispose]());

/** A client that knows nothing but the document. */
const generated = async () => {
  const definition = (await call(`${gateway.api}/openapi.json`, null)).body as Document;
  const api = new OpenAPIClientAxios({
    definition,
    axiosConfigDefaults: {
      headers: { Authorization: `Bearer ${bed.tenant.key}` },
      // As OpenAPI has it where a document says nothing else: a name for each of several values.
      paramsSerializer: { indexes: null },
    },
  });
  return api.init();
};

const refusalOf = async (asked: Promise<unknown>) => {
  const { response } = (await asked.then(
    () => expect.unreachable('it is refused'),
    (error: unknown) => error,
  )) as AxiosError;
  return response;
};

describe('a client generated from the document', () => {
  it('queues, reads, lists, repeats and cancels runs by the names of the operations', async () => {
    const client = await generated();
    const asked = { deployment_id: bed.tenant.deployment.id, inputs: { size: 64 } };
    const queued = await client['queueRun']?.({}, asked, { headers: { 'Idempotency-Key': 'a-1' } });
    const again = await client['queueRun']?.({}, asked, { headers: { 'Idempotency-Key': 'a-1' } });
    expect(again?.data).toEqual(queued?.data);
    const run_id: string = queued?.data.run_id;
    expect((await client['getRun']?.({ run_id, include: ['inputs'] }))?.data).toMatchObject({
      id: run_id,
      status: 'queued',
      workflow_inputs: { size: 64 },
    });
    const repeated = await client['rerunRun']?.({ run_id }, { inputs: { size: 128 } });
    const listed = await client['listRuns']?.({ status: ['queued', 'started'], limit: 10 });
    expect(listed?.data.runs.map(({ id }: { id: string }) => id)).toEqual([repeated?.data.run_id, run_id]);
    expect((await client['cancelRun']?.({ run_id }))?.data).toEqual({
      run_id,
      status: 'cancelled',
      outcome: 'cancelled',
    });
  });

  it('receives refusals in the form that the document describes', async () => {
    const client = await generated();
    const refused = await refusalOf(client['queueRun']?.({}, { inputs: {} }) ?? Promise.resolve());
    expect([refused?.status, refused?.data]).toEqual([
      422,
      aRefusal('invalid_request', [
        { loc: ['body', 'deployment_id'], msg: 'This is required: send it', type: 'missing' },
      ]),
    ]);
  });
});
