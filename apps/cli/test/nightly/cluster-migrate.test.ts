import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { freePort } from '@runledger/local-servers/free-port';
import { testNats } from '@runledger/testing/servers/nats';
import { testNatsCluster } from '@runledger/testing/servers/nats-cluster';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { startCliProcess } from '../fixtures/cli-process.ts';
import { aFolder } from '../fixtures/config-folder.ts';
import { cliAt, cliWith } from '../fixtures/run-cli.ts';
import { startServices } from '../fixtures/started-services.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

interface Created {
  readonly api_key: string;
  readonly deployment_id: string;
}

describe('a deployment that moves from one broker to three', () => {
  it('shows the same runs there, and runs what was queued', { timeout: 600_000 }, async () => {
    await using open = new AsyncDisposableStack();
    const keys = aFolder();
    await keys.run('--executor', 'box-1');
    const authorization = keys.conf();
    const source = open.use(await testNats({ authorization }));
    const target = open.use(await testNatsCluster({ authorization }));
    const env = {
      RUNLEDGER_NATS_URL: source.url,
      RUNLEDGER_NATS_NKEY_FILE: keys.at('keys', 'operator.nk'),
    };
    const operator = cliWith(env);
    const migrate = ['cluster', 'migrate', '--to', target.url];
    expect(await operator(['provision'])).toMatchObject({ code: 0 });
    const created = JSON.parse(
      (await operator(['organisations', 'create', 'me', '--json'])).stdout,
    ) as Created;
    const port = await freePort();
    const common = { folder: temporaryFolder(), seed: keys.seed, port, gpu: 'A10G' };
    const queue = ['queue', '--deployment', created.deployment_id, '--json'];

    const before = await startServices({ ...common, natsUrl: source.url });
    const client = cliAt(before.url, created.api_key);
    expect(await client([...queue, '--watch'])).toMatchObject({ code: 0 });
    await before.executor.stop();
    expect(await client(queue)).toMatchObject({ code: 0 });
    const shown = await client(['runs', 'list', '--json']);
    expect(await operator(migrate)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /a cluster block .* it deletes all its streams.*Services are reading from the old broker.*Nothing was changed/s,
      ),
    });
    await before[Symbol.asyncDispose]();

    const killed = startCliProcess(migrate, { env });
    await using log = await openEventLog(
      { url: source.url, name: 'test', seed: keys.seed('operator') },
      silentLogger,
    );
    await waitFor(
      'the old broker to be closed',
      async () => (await log.jsm.streams.info('RUNS')).config.subjects[0] !== 'runs.>',
      { withinMs: 60_000 },
    );
    killed.kill9();
    expect(await killed.exitCode).toBe(null);

    const moved = await operator([...migrate, '--json']);
    expect(moved).toMatchObject({ code: 0, stderr: '' });
    const proofs = moved.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(proofs.find(({ stream }) => stream === 'RUNS')).toMatchObject({
      first_sequence: 1,
      problem: null,
    });
    for (const proof of proofs) expect(proof['new_sha256']).toBe(proof['old_sha256']);
    expect(await operator(['provision'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the log was moved to other brokers'),
    });

    const after = open.use(await startServices({ ...common, natsUrl: target.url }));
    const mover = cliAt(after.url, created.api_key);
    const listed = await waitFor('the list of runs', async () => {
      const { code, stdout } = await mover(['runs', 'list', '--json']);
      return code === 0 && stdout.split('\n').length === shown.stdout.split('\n').length ? stdout : false;
    });
    const idsOf = (lines: string): unknown[] =>
      lines
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { id: string }).id);
    expect(idsOf(listed)).toEqual(idsOf(shown.stdout));
    for (const id of idsOf(listed))
      expect(await mover(['get', String(id), '--wait', '60'])).toMatchObject({
        stderr: '',
        code: 0,
        stdout: expect.stringContaining('success'),
      });

    expect(await operator([...migrate, '--back'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/have messages that the old one does not have: \d+ of RUNS/),
    });
    expect(await mover([...queue, '--watch'])).toMatchObject({ code: 0 });
    const sameKey = ['--to-nkey-file', keys.at('keys', 'operator.nk')];
    expect(await operator([...migrate, ...sameKey, '--confirm'])).toMatchObject({ code: 0 });
    expect(await operator([...migrate, '--back', '--discard-newer'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no way back'),
    });
  });
});
