import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../src/free-port.ts';
import { findNatsServer } from '../../src/find-nats-server.ts';
import { startNatsServer } from '../../src/nats-server.ts';

const { path: binary } = await findNatsServer({ env: process.env });
const temporaryFolder = () => mkdtempDisposable(join(tmpdir(), 'runledger-nats-server-'));

describe('a started nats-server', () => {
  it('offers JetStream on the reported port', async () => {
    await using folder = await temporaryFolder();
    await using server = await startNatsServer({ binary, storeDir: folder.path, serverName: 'one' });
    expect(server.url).toBe(`nats://127.0.0.1:${server.port}`);
    expect(await greetingAt(server.port)).toMatchObject({
      server_name: 'one',
      jetstream: true,
      port: server.port,
    });
  });

  it('starts again on the same store and port after kill -9', async () => {
    await using folder = await temporaryFolder();
    const first = await startNatsServer({ binary, storeDir: folder.path });
    first.kill('SIGKILL');
    expect(await first.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await using second = await startNatsServer({ binary, storeDir: folder.path, port: first.port });
    expect(second.port).toBe(first.port);
    expect(await greetingAt(second.port)).toMatchObject({ jetstream: true });
  });

  it('leaves half of the processors to those that use it', async () => {
    await using folder = await temporaryFolder();
    const monitorPort = await freePort();
    await using server = await startNatsServer({
      binary,
      env: process.env,
      storeDir: folder.path,
      monitorPort,
    });
    expect(server.exit()).toBeUndefined();
    const response = await fetch(`http://127.0.0.1:${monitorPort}/varz`);
    expect(await response.json()).toMatchObject({
      gomaxprocs: Math.max(1, Math.floor(availableParallelism() / 2)),
    });
  });

  it('hides its configuration, which may hold passwords, from other users', async () => {
    await using folder = await temporaryFolder();
    const configFile = join(folder.path, 'nats-server.conf');
    await writeFile(configFile, 'of an earlier start', { mode: 0o644 });
    const authorization = 'authorization { user: "a", password: "b" }\nmax_payload: 2000';
    await using server = await startNatsServer({ binary, storeDir: folder.path, authorization });
    expect((await stat(configFile)).mode & 0o777).toBe(0o600);
    expect(await greetingAt(server.port)).toMatchObject({ auth_required: true, max_payload: 2_000 });
  });

  it('stops on request, even while it is paused; a second stop has no effect', async () => {
    await using folder = await temporaryFolder();
    const server = await startNatsServer({ binary, storeDir: folder.path });
    server.kill('SIGSTOP');
    const exit = await server.stop();
    expect(await server.stop()).toEqual(exit);
    await expect(greetingAt(server.port)).rejects.toThrow('ECONNREFUSED');
  });
});

describe('a nats-server that cannot start', () => {
  it('reports that the port is in use', async () => {
    await using folder = await temporaryFolder();
    await using other = await startNatsServer({ binary, storeDir: join(folder.path, 'one') });
    const second = startNatsServer({ binary, storeDir: join(folder.path, 'two'), port: other.port });
    await expect(second).rejects.toThrow(/ended before it was ready.*address already in use/s);
  });

  it('reports an error in its configuration', async () => {
    await using folder = await temporaryFolder();
    const broken = startNatsServer({ binary, storeDir: folder.path, authorization: 'authorization {' });
    await expect(broken).rejects.toThrow(/Parse error/);
  });

  it('reports an error of its store, also from its log file', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'jetstream'), 'a file where a folder belongs');
    const logFile = join(folder.path, 'nats-server.log');
    await expect(startNatsServer({ binary, storeDir: folder.path })).rejects.toThrow(/jetstream/i);
    await expect(startNatsServer({ binary, storeDir: folder.path, logFile })).rejects.toThrow(/jetstream/i);
  });

  it('reports that the program does not exist', async () => {
    await using folder = await temporaryFolder();
    const missing = startNatsServer({ binary: join(folder.path, 'absent'), storeDir: folder.path });
    await expect(missing).rejects.toThrow(/nats-server cannot start.*ENOENT/);
  });
});

describe('the process that started a nats-server', () => {
  it('takes the server down when it is killed with -9, but not on an interrupt from the terminal', async () => {
    await using folder = await temporaryFolder();
    const fixture = fileURLToPath(new URL('fixtures/start-nats-server.ts', import.meta.url));
    const parent = spawn(process.execPath, [fixture, folder.path], {
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface(parent.stdout)[Symbol.asyncIterator]();
    const [pid, port] = String((await lines.next()).value)
      .split(' ')
      .map(Number);
    if (parent.pid === undefined || pid === undefined || port === undefined)
      throw new Error('It did not start.');

    // Like Ctrl-C in a terminal: the signal goes to the whole process group.
    process.kill(-parent.pid, 'SIGINT');
    expect((await lines.next()).value).toBe('interrupted');
    expect(await greetingAt(port)).toMatchObject({ jetstream: true });

    const gone = once(parent, 'exit');
    parent.kill('SIGKILL');
    await gone;
    await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false);
  });
});

const greetingAt = async (port: number): Promise<unknown> => {
  const socket = connect({ host: '127.0.0.1', port });
  const [bytes] = await once(socket, 'data');
  socket.destroy();
  return JSON.parse(String(bytes).replace(/^INFO /, ''));
};

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
