import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { freePort } from '@runledger/local-servers/free-port';
import { expect, it } from 'vitest';
import { startNode } from '../fixtures/broker-nodes.ts';
import { aFolder } from '../fixtures/config-folder.ts';
import { cliWith } from '../fixtures/run-cli.ts';

const NAMES = ['nats-1', 'nats-2', 'nats-3', 'nats-4', 'nats-5'];

it(
  'runledger cluster remove takes out a broker that is gone, and the others get its copies',
  { timeout: 180_000 },
  async () => {
    const folder = aFolder();
    const routePorts = await Promise.all(NAMES.map(() => freePort()));
    await folder.run('--nodes', '5', '--hosts', ...routePorts.map((port) => `localhost:${port}`));
    await using open = new AsyncDisposableStack();
    const ports = await Promise.all(NAMES.map(() => freePort()));
    const servers = await Promise.all(
      NAMES.map(async (name, n) => open.use(await startNode(folder, name, ports[n] ?? 0))),
    );
    const url = ports.map((port) => `nats://127.0.0.1:${port}`).join(',');
    const runledger = (user: string): ReturnType<typeof cliWith> =>
      cliWith({
        RUNLEDGER_NATS_URL: url,
        RUNLEDGER_NATS_NKEY_FILE: folder.at('keys', `${user}.nk`),
        RUNLEDGER_LOG_SETTINGS: '{"replicas": 3}',
      });
    expect(await runledger('operator')(['provision'])).toMatchObject({ code: 0 });
    const log = open.use(
      await openEventLog({ url, name: 'operator', seed: folder.seed('operator') }, silentLogger),
    );
    const holders = async (): Promise<string[]> => {
      const { cluster } = await log.jsm.streams.info('RUNS');
      return [cluster?.leader ?? '', ...(cluster?.replicas ?? []).map(({ name }) => name)].toSorted();
    };
    const gone = (await holders())[0] ?? '';
    const remove = (user: string, name: string): ReturnType<ReturnType<typeof cliWith>> =>
      runledger(user)(['cluster', 'remove', name]);

    // Not even the operator of the log may do it.
    const asOperator = await remove('operator', gone);
    expect([asOperator.code, asOperator.stderr]).toEqual([2, expect.stringContaining('keys/system.nk')]);
    const running = await remove('system', gone);
    expect([running.code, running.stderr]).toEqual([2, expect.stringContaining(`${gone} runs`)]);
    expect(await holders()).toContain(gone);

    const [server] = servers.splice(NAMES.indexOf(gone), 1);
    await server?.[Symbol.asyncDispose]();
    const left = NAMES.filter((name) => name !== gone);
    expect(await remove('system', gone)).toMatchObject({
      code: 0,
      stdout: `${gone} is removed. The log is complete at ${left.join(', ')}.\n`,
    });
    const now = await holders();
    expect(now).toHaveLength(3);
    expect(now).not.toContain(gone);
  },
);
