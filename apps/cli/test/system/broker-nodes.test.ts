import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect as connectByTls } from 'node:tls';
import { append } from '@runledger/event-log/append/append';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { retryWhileUnavailable } from '@runledger/event-log/connect/broker-call';
import { freePort } from '@runledger/local-servers/free-port';
import { aRun, queued } from '@runledger/testing/run-events';
import { commandsIn } from '@runledger/testing/stand-ins/image-commands';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { greetingOf, startNode } from '../fixtures/broker-nodes.ts';
import { aFolder } from '../fixtures/config-folder.ts';
import { cliWith } from '../fixtures/run-cli.ts';

const ASK = join(import.meta.dirname, '../../../../deploy/nats/ask-nats.sh');
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

/** All that the monitoring of nats-server answers, in whatever release. */
const ENDPOINTS = [
  '',
  'varz',
  'connz',
  'routez',
  'gatewayz',
  'leafz',
  'subsz',
  'subscriptionsz',
  'accountz',
  'accstatz',
  'jsz',
  'healthz',
  'ipqueuesz',
  'raftz',
  'stacksz',
  'expvarz',
  'profilez',
  'debug/vars',
  'debug/pprof/',
];

describe('the monitoring of a nats-server with such a configuration', () => {
  it('answers who knows its path, as the scripts beside it do, and nobody else', async () => {
    const folder = aFolder();
    const routePorts = await Promise.all(NAMES.map(() => freePort()));
    await folder.run('--nodes', '3', '--hosts', ...routePorts.map((port) => `localhost:${port}`));
    const [port, monitorPort] = [await freePort(), await freePort()];
    await using server = await startNode(folder, 'nats-1', port, monitorPort);
    const config = folder.at('nodes', 'nats-1', 'nats.conf');
    const [, secret = ''] = /^http_base_path: "\/(.*)"$/m.exec(readFileSync(config, 'utf8')) ?? [];
    const ask = async (path: string): Promise<string> => {
      const answer = await fetch(`http://127.0.0.1:${monitorPort}/${path}`);
      return `${answer.status} ${await answer.text()}`;
    };
    await waitFor('the monitoring', async () => (await ask(`${secret}/connz`)).includes('"num_connections"'));
    expect(await ask(`${secret}/varz`)).toContain('"server_name": "nats-1"');
    for (const path of ENDPOINTS) expect([path, await ask(path)]).toEqual([path, '404 404 page not found\n']);

    const bin = folder.at('bin');
    const options = { encoding: 'utf8', env: { PATH: await commandsIn(bin, process.env['PATH']) } } as const;
    const asked = [String(monitorPort), config, '/varz'];
    expect(spawnSync(ASK, asked, options).stdout).toContain('"server_name": "nats-1"');
    // What every program of the machine sees of it, and what the server gets.
    const [seen, sent, stubs] = [folder.at('seen'), folder.at('sent'), folder.at('stubs')];
    mkdirSync(stubs);
    const listening = `#!/bin/sh\ncat /proc/[0-9]*/cmdline >'${seen}' 2>/dev/null; cat >'${sent}'\n`;
    writeFileSync(join(stubs, 'nc'), listening, { mode: 0o700 });
    const stubbed = spawnSync(ASK, asked, { ...options, env: { PATH: `${stubs}:${process.env['PATH']}` } });
    expect(stubbed.status).toBe(0);
    expect(readFileSync(sent, 'utf8')).toContain(`GET /${secret}/varz HTTP`);
    expect(readFileSync(seen, 'utf8')).toContain('ask-nats.sh');
    expect(readFileSync(seen, 'utf8')).not.toContain(secret);
    expect(server.tail()).not.toContain(secret);
  });
});
