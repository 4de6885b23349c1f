import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { testNats } from '@runledger/testing/servers/nats';
import { tcpProxy } from '@runledger/testing/servers/tcp-proxy';
import { catalogue } from '../../src/records/catalogue/catalogue.ts';
import { aGateway } from '../fixtures/gateway/a-gateway.ts';
import { aKey, aTenant, type Tenant } from '../fixtures/gateway/a-tenant.ts';
import { call, post } from '../fixtures/requests/requests.ts';
import type { Provoke, Scene } from './a-scene.ts';

/** Longer than another writer needs between two changes, also where others use the processors. */
const FAR_MS = 50;

/** Changes a record again and again, until disposed of. */
const changing = ({ bed }: Scene, { machine }: Tenant): AsyncDisposable => {
  const records = catalogue(bed.log);
  const over = new AbortController();
  const change = async (): Promise<void> => {
    for (let turn = 1; !over.signal.aborted; turn += 1)
      await records.machines.put({ ...machine, version: String(turn) });
  };
  const changed = change();
  return {
    [Symbol.asyncDispose]: () => {
      over.abort();
      return changed;
    },
  };
};

/** What is refused for the state of a gateway or a broker, or for what others do at the same time. */
export const REFUSED_BY_STATE = {
  /** Between a read and the write of a gateway that is far from its broker, others always change the record. */
  changed_concurrently: async (scene) => {
    const { bed } = scene;
    await using open = new AsyncDisposableStack();
    const link = open.use(await tcpProxy(() => bed.nats.port));
    const far = open.use(await aGateway({ ...bed.nats.login, url: link.url }));
    const tenant = await bed.newTenant();
    open.use(changing(scene, tenant));
    const key = await aKey(bed.log, tenant, { scopes: ['admin'] });
    link.delayMs = FAR_MS;
    return await call(`${far.api}/machines/${tenant.machine.id}`, key, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'mine' }),
    });
  },
  gateway_stopping: async ({ bed, tenant, run }) => {
    const gateway = await bed.gateway();
    gateway.stopping();
    return call(gateway.eventsOf(run), tenant.key);
  },
  /** All runs that the API accepts fit into the messages of a broker with its usual limit. This one has a smaller limit. */
  run_too_large: async () => {
    await using nats = await testNats({ authorization: 'max_payload: 4096' });
    await using log = await openEventLog({ ...nats.login, name: 'test' }, silentLogger);
    await provision(log, {});
    const { key, deployment } = await aTenant(log);
    await using gateway = await aGateway(nats.login);
    return await post(`${gateway.api}/run/deployment/queue`, key, {
      deployment_id: deployment.id,
      inputs: { text: 'x'.repeat(4_000) },
    });
  },
} as const satisfies Readonly<Record<string, Provoke>>;
