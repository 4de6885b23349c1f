import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { openEventLog } from '@runledger/event-log/event-log';
import type { EventLog } from '@runledger/event-log/event-log';
import { silentLogger } from '@runledger/event-log/logger';
import { provision } from '@runledger/event-log/provision';
import { createOrganisation, OPERATOR_SCOPES } from '@runledger/standalone/create-organisation';
import { testNats } from '@runledger/testing/nats';
import { waitFor } from '@runledger/testing/wait-for';
import { cliAt } from './in-process.ts';
import type { Cli } from './in-process.ts';

const source = dirname(createRequire(import.meta.url).resolve('@runledger/gateway/config'));

/** A gateway as it runs, with an organisation whose sample nobody executes. */
export interface RealGateway extends AsyncDisposable {
  /** What the API itself answers. */
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of any form, which tests look into
  readonly read: (path: string) => Promise<any>;
  /** The command with the organisation's first key, which is good for the fleet too. */
  readonly cli: Cli;
  readonly log: EventLog;
  /** Where its broker is. */
  readonly nats_url: string;
  readonly org_id: string;
  readonly deployment_id: string;
}

export const aRealGateway = async (): Promise<RealGateway> => {
  await using opened = new AsyncDisposableStack();
  const nats = opened.use(await testNats());
  const log = opened.use(await openEventLog({ url: nats.url, name: 'test' }, silentLogger));
  await provision(log);
  const { org_id, api_key, deployment_id } = await createOrganisation(
    log,
    'Acme',
    () => new Date(),
    OPERATOR_SCOPES,
  );
  const child = spawn(process.execPath, [join(source, 'main.ts')], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      PATH: process.env['PATH'],
      NATS_URL: nats.url,
      RUNLEDGER_PORT: '0',
      RUNLEDGER_HEALTH_PORT: '0',
      RUNLEDGER_VIEWS: 'memory',
      RUNLEDGER_SECRET_KEYS: randomBytes(32).toString('base64'),
    },
  });
  const exited = once(child, 'exit');
  opened.defer(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  let origin = '';
  child.on('message', (message) => {
    if (typeof message === 'object' && 'http' in message) origin = String(message.http);
  });
  await waitFor('the gateway to serve', () => origin !== '');
  const api = `${origin}/api`;
  const kept = opened.move();
  return {
    read: async (path) =>
      (await fetch(`${api}${path}`, { headers: { authorization: `Bearer ${api_key}` } })).json(),
    cli: cliAt(api, api_key),
    log,
    nats_url: nats.url,
    org_id,
    deployment_id,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};
