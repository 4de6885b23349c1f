import { readFileSync } from 'node:fs';
import { connect as connectByTls } from 'node:tls';
import { append } from '@runledger/event-log/append/append';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/logger';
import { retryWhileUnavailable } from '@runledger/event-log/connect/retry-while-unavailable';
import { freePort } from '@runledger/local-servers/free-port';
import { aRun, queued } from '@runledger/testing/events/run-events';
import { describe, expect, it } from 'vitest';
import { greetingOf, startNode } from '../fixtures/broker-nodes.ts';
import { aFolder } from '../fixtures/config-folder.ts';
import { cliWith } from '../fixtures/run-cli.ts';

const NAMES = ['nats-1', 'nats-2', 'nats-3'];

describe('three nats-servers with the configurations that broker-config made', () => {
  it('hold the log together, and go on without one of them', { timeout: 120_000 }, async () => {
    const folder = aFolder();
    const routePorts = await Promise.all(NAMES.map(() => freePort()));
    const hosts = routePorts.map((port) => `localhost:${port}`);
    await folder.run('--executor', 'gpu-1', '--nodes', '3', '--hosts', ...hosts);
    await using open = new AsyncDisposableStack();
    const ports = await Promise.all(NAMES.map(() => freePort()));
    const servers = await Promise.all(
      NAMES.map(async (name, n) => open.use(await startNode(folder, name, ports[n] ?? 0))),
    );
    const url = ports.map((port) => `nats://127.0.0.1:${port}`).join(',');
    const env = { RUNLEDGER_NATS_URL: url, RUNLEDGER_NATS_NKEY_FILE: folder.at('keys', 'operator.nk') };
    const provisioned = await cliWith({ ...env, RUNLEDGER_LOG_SETTINGS: '{"replicas": 3}' })(['provision']);
    expect(provisioned).toEqual({
      code: 0,
      stdout: 'The streams and buckets are up to date.\n',
      stderr: '',
    });

    const log = open.use(
      await openEventLog({ url, name: 'gateway', seed: folder.seed('gateway') }, silentLogger),
    );
    const { config, cluster } = await log.jsm.streams.info('RUNS');
    expect(config.num_replicas).toBe(3);
    const copies = [cluster?.leader ?? '', ...(cluster?.replicas ?? []).map(({ name }) => name)];
    expect(copies.toSorted()).toEqual(NAMES);

    expect(await append(log, queued(aRun()), 0)).toMatchObject({ kind: 'appended' });
    servers[NAMES.indexOf(cluster?.leader ?? '')]?.kill('SIGKILL');
    const late = { signal: AbortSignal.timeout(60_000), logger: silentLogger };
    expect(await retryWhileUnavailable(late, () => append(log, queued(aRun()), 0))).toMatchObject({
      kind: 'appended',
    });

    const left = routePorts.find((_port, n) => NAMES[n] !== cluster?.leader) ?? 0;
    const file = (name: string): string => readFileSync(folder.at('nodes', 'nats-2', name), 'utf8');
    const known = { port: left, host: 'localhost', ca: file('authority.crt') };
    const broker = { ...known, cert: file('route.crt'), key: file('route.key') };
    // What the others are told to connect to: the name in its certificate.
    expect(await greetingOf(connectByTls(broker))).toContain(`"ip":"nats-route://localhost:${left}/"`);
    await expect(greetingOf(connectByTls(known))).rejects.toThrow(/certificate required/);
  });
});
