import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { append } from '@runledger/event-log/append/append';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { NO_OBSERVER, silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { openServiceLog, type ServiceLogOptions } from '@runledger/event-log/provision/service-log';
import { freePort } from '@runledger/local-servers/free-port';
import { findNatsServer } from '@runledger/local-servers/find-nats-server';
import { killWithParent } from '@runledger/local-servers/kill-with-parent';
import { aRun, queued } from '@runledger/testing/run-events';
import { fillDisk, whyNoSmallDisk, withSmallDisk } from '@runledger/testing/servers/small-disk';
import { commandsIn } from '@runledger/testing/stand-ins/image-commands';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { execForm, imageOf, readDockerfile } from '../deploy/read-dockerfile.ts';
import { ROOT } from '../deploy/workspaces.ts';

const SCRIPT = join(ROOT, 'deploy/nats/check-health.sh');
const DISK_BYTES = 48 * 1024 ** 2;
const { steps } = imageOf(readDockerfile('deploy/nats/Dockerfile'));

/** nats-server as the image starts it, with a small disk as /data, and with more configuration. */
const startBroker = async (folder: string, more = '') => {
  const [port, monitorPort] = [await freePort(), await freePort()];
  const [store, pidFile] = [join(folder, 'data'), join(folder, 'nats-server.pid')];
  const config = (await readFile(join(ROOT, 'deploy/nats/nats.conf'), 'utf8'))
    .replace(/\b4222\b/, String(port))
    .replace(/\b8222\b/, String(monitorPort))
    .replace('/data', store);
  await writeFile(join(folder, 'nats.conf'), config);
  await writeFile(join(folder, 'broker.conf'), more);
  const { path: binary } = await findNatsServer({ env: process.env });
  const PATH = await commandsIn(join(folder, 'bin'), process.env['PATH']);
  const [file = '', ...args] = withSmallDisk(store, DISK_BYTES);
  const child = spawn(file, [...args, binary, '--pid', pidFile, '--config', join(folder, 'nats.conf')], {
    stdio: 'ignore',
  });
  killWithParent(child);
  const exited = once(child, 'exit');
  const checkHealth = (): { output: string; code: number | null } => {
    const seen = join(`/proc/${child.pid}/root`, store);
    const { stdout, status } = spawnSync(
      'sh',
      [SCRIPT, String(monitorPort), seen, pidFile, join(folder, 'nats.conf')],
      {
        encoding: 'utf8',
        env: { PATH },
      },
    );
    return { output: stdout.trim(), code: status };
  };
  return {
    pid: child.pid ?? 0,
    store,
    url: `nats://127.0.0.1:${port}`,
    exited,
    running: () => child.exitCode === null && child.signalCode === null,
    checkHealth,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
};

type Broker = Awaited<ReturnType<typeof startBroker>>;

const NAMES = ['n0', 'n1', 'n2'];

/** Three of them that hold the log together: what starts each. */
const plannedCluster = async (
  folder: string,
  open: AsyncDisposableStack,
): Promise<readonly (() => Promise<Broker>)[]> => {
  const ports = await Promise.all(NAMES.map(() => freePort()));
  const routes = ports.map((port) => `"nats://127.0.0.1:${port}"`).join(', ');
  return NAMES.map((name, n) => async () => {
    const own = join(folder, name);
    await mkdir(own);
    const cluster = `cluster { name: test, listen: "127.0.0.1:${ports[n]}", routes: [${routes}] }`;
    return open.use(await startBroker(own, `server_name: ${name}\n${cluster}\n`));
  });
};

describe('the health check of the broker in a container', () => {
  it('reads the monitoring port, the store and the process id of the nats-server in the image', async () => {
    const config = await readFile(join(ROOT, 'deploy/nats/nats.conf'), 'utf8');
    const [command, port, store, pidFile, conf] = execForm(steps, 'HEALTHCHECK') ?? [];
    const copied = steps.find(({ keyword }) => keyword === 'COPY')?.words;
    expect(copied).toEqual(expect.arrayContaining([command, 'nats-watchdog.sh', 'ask-nats.sh']));
    expect(config).toContain(`http: 127.0.0.1:${port}\n`);
    expect(config).toContain(`store_dir: ${store}\n`);
    expect(execForm(steps, 'ENTRYPOINT')).toEqual([
      'nats-watchdog.sh',
      port,
      'nats-server',
      '--pid',
      pidFile,
    ]);
    expect(execForm(steps, 'CMD')).toEqual(['--config', conf]);
  });

  it('ends a nats-server whose disk was full when it has space again, and no other', async (context) => {
    const why = whyNoSmallDisk();
    if (why !== undefined) return context.skip(why);
    await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-broker-health-'));
    await using broker = await startBroker(folder.path);
    const health = broker.checkHealth;
    await waitFor('nats-server to be well', () => health().code === 0);
    await using log = await openEventLog({ url: broker.url, name: 'test' }, silentLogger);
    await log.jsm.streams.add({ name: 'STREAM', subjects: ['subject'] });
    await log.js.publish('subject', 'stored');

    const makeRoom = fillDisk(broker.pid, broker.store);
    log.nc.publish('subject', new Uint8Array(64 * 1024));
    const full = await waitFor('a write to fail', () => health().code !== 0 && health());
    expect(full).toEqual({
      output: expect.stringMatching(/ is full: \d+ bytes are left\. Free 16777216/),
      code: 1,
    });
    expect(broker.running()).toBe(true);

    makeRoom();
    expect(health()).toEqual({
      output: expect.stringContaining('It is ended, to be started again'),
      code: 1,
    });
    // SIGTERM ends it in order, so no acknowledged message is lost.
    expect(await broker.exited).toEqual([0, null]);
    expect(health()).toEqual({ output: expect.stringContaining('it does not answer'), code: 1 });
  });

  it(
    'ends one of three whose disk was full, which has switched JetStream off',
    { timeout: 120_000 },
    async (context) => {
      const why = whyNoSmallDisk();
      if (why !== undefined) return context.skip(why);
      await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-broker-health-'));
      await using open = new AsyncDisposableStack();
      const planned = await plannedCluster(folder.path, open);
      const brokers = await Promise.all(planned.map((start) => start()));
      const [first, , full] = brokers;
      if (!first || !full) throw new Error('A broker is missing.');
      const areWell = () => brokers.every(({ checkHealth }) => checkHealth().code === 0);
      await waitFor('the brokers to be well', areWell, { withinMs: 60_000 });
      const log = open.use(await openEventLog({ url: first.url, name: 'test' }, silentLogger));
      await provision(log, { replicas: 3 });
      const away = new Map<string, readonly string[]>();
      const checks: ServiceLogOptions['checks'] = {};
      const observer = {
        ...NO_OBSERVER,
        copies: (stream: string, now?: { away: readonly string[] }) => void away.set(stream, now?.away ?? []),
      };
      const begun = {
        config: { NATS_URL: full.url },
        instance: 'service-1',
        logger: silentLogger,
        checks,
        observer,
      };
      // Of a service that is connected to this very broker: the others answer it.
      const service = await openServiceLog(begun, open, AbortSignal.timeout(30_000));

      const makeRoom = fillDisk(full.pid, full.store);
      const health = await waitFor('its disk to be full', async () => {
        expect(await append(service, queued(aRun()), 0)).toMatchObject({ kind: 'appended' });
        const now = full.checkHealth();
        return now.code !== 0 && now;
      });
      expect(health.output).toMatch(/ is full: \d+ bytes are left\. Free 16777216/);
      const isAway = () => ['RUNS', 'KV_KEYS'].every((stream) => away.get(stream)?.includes('n2'));
      await waitFor('the leaders to miss its copies', isAway, { withinMs: 60_000 });
      expect(await checks['log']?.()).toEqual({
        ok: true,
        note: expect.stringContaining('JetStream switched off after its disk was full: n2'),
      });
      expect(full.running()).toBe(true);

      makeRoom();
      expect(full.checkHealth().output).toContain('"JetStream not enabled');
      expect(await full.exited).toEqual([0, null]);
      expect(first.running()).toBe(true);
    },
  );

  it(
    'is not well before the others of a new cluster are there, and then the log can be provisioned at once',
    { timeout: 120_000 },
    async () => {
      await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-broker-health-'));
      await using open = new AsyncDisposableStack();
      const [startFirst, ...others] = await plannedCluster(folder.path, open);
      const first = await startFirst?.();
      await waitFor('it to wait', () => first?.checkHealth().output.includes('unavailable'), {
        withinMs: 30_000,
      });
      const brokers = [first, ...(await Promise.all(others.map((start) => start())))];
      await waitFor('all to be well', () => brokers.every((broker) => broker?.checkHealth().code === 0), {
        withinMs: 60_000,
      });
      // What the job "provision" of Compose does next.
      const log = open.use(await openEventLog({ url: first?.url ?? '', name: 'test' }, silentLogger));
      expect(await provision(log, { replicas: 3 })).toEqual({ away: [] });
    },
  );

  it.for(['ask-nats.sh', 'check-health.sh', 'nats-watchdog.sh'])('passes shellcheck: %s', (name, context) => {
    const { error, stdout, status } = spawnSync('shellcheck', [join(ROOT, 'deploy/nats', name)], {
      encoding: 'utf8',
    });
    if (error !== undefined) return context.skip(`shellcheck cannot be run: ${error.message}`);
    expect({ stdout, status }).toEqual({ stdout: '', status: 0 });
  });
});
