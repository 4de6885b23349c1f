import { anyCharacter } from '@runledger/contracts/test/fixtures/any-character';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aFleet, anExecutor, type AFleet } from '../../fixtures/gateway/a-fleet.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { nearly } from '../../fixtures/requests/from-schema.ts';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly schema: unknown;
}

interface Described {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** Undefined for an operation without one. */
  readonly body: unknown;
}

let bed: TestBed;
let gateway: TestGateway;
let fleet: AFleet;
let key: string;
/** Known to the requests, which may delete it. */
let ended: string;
let other: string;
// oxlint-disable-next-line typescript/no-explicit-any -- the gateway's own document
let document: any;

beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway({ projecting: true });
  key = await aKey(bed.log, bed.tenant, { scopes: ['runs:write', 'admin', 'operator'] });
  // Named as `knownIds` has it.
  fleet = await aFleet(bed.log, anExecutor(bed.tenant.deployment.id));
  // One that has ended: a stream of it closes, and nobody waits for it.
  const endedRun = async (): Promise<string> => {
    const run = aRun(bed.tenant.org_id);
    await appendAll(bed.log, queued(run), assigned(run), started(run), succeeded(run));
    return run.run_id;
  };
  [ended, other] = [await endedRun(), await endedRun()];
  document = (await call(`${gateway.api}/openapi.json`, null)).body;
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
  await bed[Symbol.asyncDispose]();
});

const operations = (): Described[] =>
  Object.entries<Record<string, unknown>>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => {
      // oxlint-disable-next-line typescript/no-explicit-any -- as above
      const { parameters = [], requestBody }: any = described;
      // oxlint-disable-next-line typescript/no-explicit-any -- as above
      const [content]: any[] = Object.values(requestBody?.content ?? {});
      const body = content?.schema;
      return { method: method.toUpperCase(), path, parameters, body };
    }),
  );

const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** What may stand in a header: latin-1 without controls. */
const inHeader = (value: string): string => value.replaceAll(/[^\x20-\x7e]/g, '?').trim();

const knownIds = (): fc.Arbitrary<string> => {
  const { deployment, machine, version } = bed.tenant;
  return fc.constantFrom(ended, deployment.id, machine.id, version.id, deployment.workflow_id);
};

const valueOf = ({ in: source, schema }: Parameter): fc.Arbitrary<string> =>
  source === 'path'
    ? fc.oneof(
        { weight: 4, arbitrary: knownIds() },
        fc.uuid(),
        fc.string({ unit: anyCharacter, minLength: 1, maxLength: 60 }).filter((id) => id.isWellFormed()),
      )
    : nearly(document, schema).map(text);

const requestOf = (
  operation: Described,
): fc.Arbitrary<{ readonly values: Readonly<Record<string, string>>; readonly body: unknown }> => {
  const { parameters, body } = operation;
  const required = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
  const values = Object.fromEntries(parameters.map((parameter) => [parameter.name, valueOf(parameter)]));
  return fc.record({
    values: fc.record(values, { requiredKeys: required }),
    body: body === undefined ? fc.constant(undefined) : nearly(document, body),
  });
};

const send = async (
  { method, path, parameters, body: takesBody }: Described,
  { values, body }: { readonly values: Readonly<Record<string, string>>; readonly body: unknown },
) => {
  const of = (source: Parameter['in']): [string, string][] =>
    parameters.flatMap(({ name, in: where }) => {
      const value = values[name];
      return where === source && value !== undefined ? [[name, value]] : [];
    });
  const filled = of('path').reduce(
    (filling, [name, value]) => filling.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  );
  const search = String(new URLSearchParams(of('query')));
  const headers = Object.fromEntries(of('header').map(([name, value]) => [name, inHeader(value)]));
  return call(`${gateway.api}${filled}${search === '' ? '' : `?${search}`}`, key, {
    method,
    headers: { ...headers, ...(takesBody === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(takesBody === undefined || body === undefined ? {} : { body: JSON.stringify(body) }),
  });
};

describe('any request to any operation', () => {
  it(
    'gets a response that the OpenAPI document describes, and never an internal error',
    { timeout: 180_000 },
    async () => {
      const all = operations();
      expect(all.length).toBeGreaterThan(30);
      for (const operation of all) {
        await fc.assert(
          fc.asyncProperty(requestOf(operation), async (request) => {
            // Each answer is held against the document where it is received.
            const { status, body } = await send(operation, request);
            expect([operation.method, operation.path, status < 500 ? 'answered' : body]).toEqual([
              operation.method,
              operation.path,
              'answered',
            ]);
          }),
          { numRuns: casesOf(4) },
        );
      }
    },
  );

  it('leaves the gateway, and a run that it does not name, unchanged', async () => {
    const { status, body } = await call(`${gateway.api}/run/${other}`, key);
    expect([status, body.status]).toEqual([200, 'success']);
  });
});
