import { aKey, type Tenant } from '../fixtures/gateway/a-tenant.ts';
import { aWorld, type World } from '../fixtures/gateway/a-world.ts';
import { type ApiAnswer, call } from '../fixtures/requests/requests.ts';

/** The API as one key may use it. */
export interface Client {
  get(path: string): Promise<ApiAnswer>;
  post(path: string, body: unknown): Promise<ApiAnswer>;
  patch(path: string, body: unknown): Promise<ApiAnswer>;
}

/** A gateway, and clients of its organisations. */
export interface CatalogueApi extends AsyncDisposable {
  readonly world: World;
  /** With the scope `admin`. */
  admin(of?: Tenant): Promise<Client>;
  client(key: string): Client;
}

export const aCatalogueApi = async (): Promise<CatalogueApi> => {
  const world = await aWorld();
  const { api } = await world.gateway();
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
    };
  };
  return {
    world,
    client,
    admin: async (of = world.tenant) => client(await aKey(world.log, of, { scopes: ['admin'] })),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
};

export const aMachine = {
  name: 'render node',
  gpu: 'A100',
  runner: { kind: 'program', program: 'render-image' },
};

/** The words of pydantic for one member of a body. */
export const wrongIn = ({ status, body }: ApiAnswer): unknown =>
  status === 422
    ? body.detail.map(({ loc, type }: { loc: unknown[]; type: string }) => [loc.slice(1).join('.'), type])
    : status;
