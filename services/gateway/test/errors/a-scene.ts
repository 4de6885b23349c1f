import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { TestGateway } from '../fixtures/gateway/a-gateway.ts';
import { aKey, type Tenant } from '../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../fixtures/gateway/test-bed.ts';
import { rawRequest } from '../fixtures/requests/raw-request.ts';
import { call, type ApiAnswer } from '../fixtures/requests/requests.ts';
import { queueSample } from '../fixtures/runs/queued-runs.ts';

/** What requests are refused in: a gateway, and one that refuses duplicate members. */
export interface Scene extends AsyncDisposable {
  readonly bed: TestBed;
  readonly gateway: TestGateway;
  readonly strict: TestGateway;
  readonly tenant: Tenant;
  /** With the scope `admin`. */
  readonly admin: string;
  readonly operator: string;
  readonly reader: string;
  /** A queued run without a webhook. */
  readonly run: RunKey;
}

export interface ProvokedRefusal {
  readonly status: number;
  readonly body: unknown;
}

/** Sends a request that is refused. */
export type Provoke = (scene: Scene) => Promise<ProvokedRefusal>;

export const aScene = async (): Promise<Scene> => {
  const bed = await openTestBed();
  const { log, tenant } = bed;
  const gateway = await bed.gateway();
  return {
    bed,
    gateway,
    strict: await bed.gateway({ environment: { RUNLEDGER_JSON_DUPLICATES: 'refused' } }),
    tenant,
    admin: await aKey(log, tenant, { scopes: ['admin'] }),
    operator: await aKey(log, tenant, { scopes: ['operator'] }),
    reader: await aKey(log, tenant, { scopes: ['runs:read'] }),
    run: await queueSample(gateway, tenant),
    [Symbol.asyncDispose]: () => bed[Symbol.asyncDispose](),
  };
};

/** Sends this head, and what follows it, as it is. */
export const raw = async (
  { url }: TestGateway,
  head: string,
  ...rest: readonly string[]
): Promise<ProvokedRefusal> => {
  const { status, body } = await rawRequest(url, `${head.replaceAll('\n', '\r\n')}\r\n\r\n`, ...rest);
  return { status, body: JSON.parse(body) };
};

/** Sends JSON by this method, with a key of the organisation. */
export const send = (
  { gateway }: Scene,
  method: string,
  path: string,
  { key, body }: { readonly key: string; readonly body?: unknown },
): Promise<ApiAnswer> =>
  call(`${gateway.api}${path}`, key, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });

/** A read of something with a new id. */
export const get =
  (path: (id: string) => string): Provoke =>
  (scene) =>
    send(scene, 'GET', path(newUuid()), { key: scene.admin });
