import { lifecycleFilter } from '@runledger/contracts/subjects/run-subjects';
import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { append } from '@runledger/event-log/append/append';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/logger';
import { provision } from '@runledger/event-log/provision/provision';
import { authenticate } from '@runledger/gateway/auth/api-keys';
import { catalogue } from '@runledger/gateway/catalogue';
import { testNats } from '@runledger/testing/servers/nats';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../fixtures/run-cli.ts';

const opened = new AsyncDisposableStack();
let log: EventLog;
let env: Record<string, string>;
beforeAll(async () => {
  const authorization = 'authorization { user: "op", password: "secret" }';
  const nats = opened.use(await testNats({ authorization }));
  env = { RUNLEDGER_NATS_URL: nats.url, RUNLEDGER_NATS_USER: 'op', RUNLEDGER_NATS_PASSWORD: 'secret' };
  log = opened.use(
    await openEventLog({ url: nats.url, user: 'op', password: 'secret', name: 'test' }, silentLogger),
  );
  await provision(log);
});
afterAll(() => opened.disposeAsync());

const key = { org_id: orgId(newUuid()), run_id: runId(newUuid()) };
const shared = {
  ...key,
  version: 1,
  time: '2026-05-01T12:00:00.000Z',
  writer: { service: 'gateway', instance: 'gateway-1' },
  attempt: 0,
  executor_id: null,
  correlation_id: 'c',
  causation_id: null,
  traceparent: null,
} as const;

const queued: RunEvent = {
  ...shared,
  type: 'RunQueued',
  event_id: newUuid(),
  data: {
    user_id: newUuid(),
    origin: 'api',
    deployment_id: newUuid(),
    workflow_id: newUuid(),
    workflow_version_id: newUuid(),
    workflow_sha256: 'a'.repeat(64),
    machine_id: newUuid(),
    machine_name: 'm',
    machine_type: 't',
    machine_version: '1',
    runner: { kind: 'program', program: 'p' },
    gpu: 'A10G',
    inputs: { title: 'evil \u001B[2J' },
    inputs_blob: null,
    webhook: null,
    webhook_intermediate_status: false,
    start_deadline_s: 60,
    run_timeout_s: 60,
    max_attempts: 3,
    rerun_of: null,
  },
};
const cancelRequested: RunEvent = {
  ...shared,
  type: 'RunCancelRequested',
  event_id: newUuid(),
  data: { by: 'client', user_id: null },
};

describe('runledger history', () => {
  beforeAll(async () => {
    const first = await append(log, queued, 0);
    if (first.kind !== 'appended') throw new Error('the run was there before');
    await append(log, cancelRequested, first.sequence);
    await log.js.publish(`runs.${key.org_id}.${key.run_id}.life.started.executor.1.forged`, '{}');
  });

  it('shows each event with its writer and the change of the status, and invalid messages', async () => {
    const { code, stdout, stderr } = await runCli(['history', key.run_id], { env });
    expect(code).toBe(0);
    const [first = '', second = '', ...rest] = stdout.split('\n');
    expect(first).toMatch(
      /^\d{4}-\S+Z {2}RunQueued +gateway \(gateway-1\) +queued +deployment .* on A10G, inputs /,
    );
    expect(first).not.toContain('\u001B');
    expect(second).toMatch(
      /RunCancelRequested +gateway \(gateway-1\) +queued -> cancelled +requested by the client$/,
    );
    expect(rest).toEqual(['']);
    expect(stderr).toMatch(/^Invalid: .*started\.executor\.1\.forged at sequence 3: /);
  });

  it('prints one event a line with --json', async () => {
    const { stdout } = await runCli(['history', key.run_id, '--json'], { env });
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events).toEqual([
      { ...queued, sequence: 1, stored_at: expect.any(String) },
      { ...cancelRequested, sequence: 2, stored_at: expect.any(String) },
    ]);
    expect(lifecycleFilter(key)).toContain(events[0].run_id);
  });

  it.each([
    [newUuid(), 'The log has no run'],
    ['x', '"x" is not a run id'],
  ])('refuses %s with a sentence', async (run, sentence) => {
    expect(await runCli(['history', run], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(sentence),
    });
  });
});

describe('runledger organisations create', () => {
  it('prints the connection of the first client', async () => {
    const { code, stdout } = await runCli(['organisations', 'create', 'Acme', '--json'], { env });
    expect(code).toBe(0);
    const created: { org_id: string; api_key: string; deployment_id: string } = JSON.parse(stdout);
    expect(await authenticate(log, created.api_key)).toMatchObject({ org_id: created.org_id });
    const records = catalogue(log);
    expect(await records.getOrganisation(created.org_id)).toMatchObject({ name: 'Acme' });
    expect(await records.getDeployment(created.org_id, created.deployment_id)).toMatchObject({
      name: 'mandelbrot',
    });
  });

  it('warns without --json that the key is shown only once', async () => {
    const { stdout, stderr } = await runCli(['organisations', 'create', 'Acme'], { env });
    expect(stdout).toMatch(/^org_id +\S+\napi_key +rl_\S+\ndeployment_id +\S+\n$/);
    expect(stderr).toContain('shown only once');
  });
});

it('runledger provision can run on a log in use', async () => {
  expect(await runCli(['provision'], { env })).toMatchObject({
    code: 0,
    stdout: 'The streams and buckets are up to date.\n',
  });
});

describe("the operator's connection", () => {
  it('is refused with a wrong password, without quoting it', async () => {
    const wrong = { ...env, RUNLEDGER_NATS_PASSWORD: 'guessed' };
    const { code, stderr } = await runCli(['history', key.run_id], { env: wrong });
    expect(code).toBe(2);
    expect(stderr).toContain("refused the operator's credentials");
    expect(stderr).not.toContain('guessed');
  });

  it('is explained if it is missing', async () => {
    expect(await runCli(['history', key.run_id])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('operator.json'),
    });
    const unavailable = { RUNLEDGER_NATS_URL: 'nats://127.0.0.1:1' };
    expect(await runCli(['history', key.run_id], { env: unavailable })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('cannot be reached (ECONNREFUSED)'),
    });
  });
});
