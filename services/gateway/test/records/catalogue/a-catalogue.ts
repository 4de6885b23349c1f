import { expect } from 'vitest';
import { aKey, type Tenant } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { type ApiAnswer, call } from '../../fixtures/requests/requests.ts';

/** The API as one key may use it. */
export interface Client {
  get(path: string): Promise<ApiAnswer>;
  post(path: string, body: unknown): Promise<ApiAnswer>;
  patch(path: string, body: unknown): Promise<ApiAnswer>;
  delete(path: string): Promise<ApiAnswer>;
}

/** A gateway, and clients of its organisations. */
export interface CatalogueApi extends AsyncDisposable {
  readonly bed: TestBed;
  /** The address of the API. */
  readonly api: string;
  /** With the scope `admin`. */
  admin(of?: Tenant): Promise<Client>;
  client(key: string): Client;
}

export const aCatalogueApi = async (): Promise<CatalogueApi> => {
  const bed = await openTestBed();
  const { api } = await bed.gateway();
  const client = (key: string): Client => {
    const send = (method: string, path: string, body: unknown): Promise<ApiAnswer> =>
      call(`${api}${path}`, key, {
        method,
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      });
    return {
      get: (path) => call(`${api}${path}`, key),
      post: (path, body) => send('POST', path, body),
      patch: (path, body) => send('PATCH', path, body),
      delete: (path) => call(`${api}${path}`, key, { method: 'DELETE' }),
    };
  };
  return {
    bed,
    api,
    client,
    admin: async (of = bed.tenant) => client(await aKey(bed.log, of, { scopes: ['admin'] })),
    [Symbol.asyncDispose]: () => bed[Symbol.asyncDispose](),
  };
};

export const aMachine = {
  name: 'render node',
  gpu: 'A100',
  runner: { kind: 'program', program: 'render-image' },
};

/** A deployment whose workflow has these definitions of its inputs, on `aMachine`. */
export const aDeploymentWith = async (
  { post }: Pick<Client, 'post'>,
  inputs: readonly object[],
): Promise<{ readonly deployment_id: string; readonly version_id: string }> => {
  const { body: workflow } = await post('/workflows', { name: 'sampler' });
  const version = await post(`/workflows/${workflow.id}/versions`, { workflow: {}, inputs });
  expect(version.status).toBe(201);
  const { body: machine } = await post('/machines', aMachine);
  const request = { name: 'sampler', workflow_version_id: version.body.id, machine_id: machine.id };
  const { status, body } = await post('/deployments', request);
  expect(status).toBe(201);
  return { deployment_id: String(body.id), version_id: String(version.body.id) };
};

/** The words of pydantic for one member of a body. */
export const wrongIn = ({ status, body }: ApiAnswer): unknown =>
  status === 422
    ? body.detail.map(({ loc, type }: { loc: unknown[]; type: string }) => [loc.slice(1).join('.'), type])
    : status;
