import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { authenticate } from '@runledger/gateway/records/keys/api-keys';
import { catalogue } from '@runledger/gateway/records/catalogue/catalogue';
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

describe('runledger organisations create', () => {
  it('prints the connection of the first client', async () => {
    const { code, stdout } = await runCli(['organisations', 'create', 'Acme', '--json'], { env });
    expect(code).toBe(0);
    const created: { org_id: string; api_key: string; deployment_id: string } = JSON.parse(stdout);
    expect(await authenticate(log, created.api_key)).toMatchObject({ org_id: created.org_id });
    const records = catalogue(log);
    expect(await records.getOrganisation(created.org_id)).toMatchObject({ name: 'Acme' });
    expect(await records.deployments.get(created.org_id, created.deployment_id)).toMatchObject({
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
    const { code, stderr } = await runCli(['organisations', 'list'], { env: wrong });
    expect(code).toBe(2);
    expect(stderr).toContain("refused the operator's credentials");
    expect(stderr).not.toContain('guessed');
  });

  it('is explained if it is missing', async () => {
    expect(await runCli(['organisations', 'list'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('operator.json'),
    });
    const unavailable = { RUNLEDGER_NATS_URL: 'nats://127.0.0.1:1' };
    expect(await runCli(['organisations', 'list'], { env: unavailable })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('cannot be reached (ECONNREFUSED)'),
    });
  });
});
