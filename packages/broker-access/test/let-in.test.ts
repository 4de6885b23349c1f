import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findNatsServer } from '@runledger/local-servers/find-nats-server';
import { startNatsServer } from '@runledger/local-servers/nats-server';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { brokerConfiguration } from '../src/broker-configuration.ts';
import { operatorUser } from '../src/broker-user.ts';
import { newUserKey } from '@runledger/event-log/connect/user-key';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { NO_OBSERVER, silentLogger, type Logger } from '@runledger/event-log/connect/observability';
import { openServiceLog, type ServiceLogOptions } from '@runledger/event-log/provision/service-log';
import { aUser } from './a-user.ts';

const clerk = newUserKey();
const operator = { user: operatorUser(), publicKey: newUserKey().publicKey };
const WITHOUT_CLERK = brokerConfiguration([operator]);
const WITH_CLERK = brokerConfiguration([
  operator,
  { user: aUser('clerk', ['activity.a'], ['runs.none']), publicKey: clerk.publicKey },
]);

type Server = Awaited<ReturnType<typeof startNatsServer>>;

/** One broker, that is started again and again with another configuration. */
const aBroker = async () => {
  await using opened = new AsyncDisposableStack();
  const { path: storeDir } = opened.use(await mkdtempDisposable(join(tmpdir(), 'runledger-let-in-')));
  const { path: binary } = await findNatsServer({ env: process.env });
  let server: Server | undefined;
  opened.defer(async () => void (await server?.stop()));
  const kept = opened.move();
  return {
    restart: async (authorization: string): Promise<string> => {
      const port = server?.port;
      await server?.stop();
      server = await startNatsServer({
        binary,
        storeDir,
        authorization,
        ...(port === undefined ? {} : { port }),
      });
      return server.url;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};

/** A logger, and the errors that it gets. */
const recordingLogger = (): { readonly logger: Logger; readonly logged: string[] } => {
  const logged: string[] = [];
  const error = (fields: object) => void ('err' in fields && logged.push(String(fields.err)));
  return { logger: { ...silentLogger, error }, logged };
};
const refusals = (logged: readonly string[]): string[] =>
  logged.filter((error) => error.includes('rejected clerk as') && error.includes('runledger broker-config'));

it('a connection survives a broker that does not know its user for a moment', async () => {
  await using broker = await aBroker();
  const url = await broker.restart(WITH_CLERK);
  const { logger, logged } = recordingLogger();
  let refused = 0;
  const observer = { ...NO_OBSERVER, notAllowed: () => void (refused += 1) };
  await using log = await openEventLog({ url, name: 'clerk', seed: clerk.seed }, logger, undefined, observer);
  await broker.restart(WITHOUT_CLERK);
  await waitFor('the broker to refuse it more than twice', () => refused > 4);
  expect(log.connected()).toBe(false);
  expect(refusals(logged)).toHaveLength(1);

  await broker.restart(WITH_CLERK);
  await waitFor('the connection to be back', () => log.connected());
  await log.nc.flush();
});

it('a service that starts before the broker knows its key reports it, and connects later', async () => {
  await using broker = await aBroker();
  const url = await broker.restart(WITHOUT_CLERK);
  const { logger, logged } = recordingLogger();
  await using open = new AsyncDisposableStack();
  const checks: ServiceLogOptions['checks'] = {};
  const config = { NATS_URL: url, NATS_NKEY: clerk.seed };
  const opening = openServiceLog(
    { config, instance: 'clerk', logger, checks, streams: [] },
    open,
    new AbortController().signal,
  );
  await waitFor('the refusal to be logged', () => refusals(logged).length === 1);
  await waitFor('the check to say it', async () => {
    const state = await checks['broker']?.();
    return state?.ok === false && state.why.includes('runledger broker-config');
  });

  await broker.restart(WITH_CLERK);
  expect((await opening).connected()).toBe(true);
  expect(checks['broker']?.()).toEqual({ ok: true });
});

it('a rejected service stops on request', async () => {
  await using broker = await aBroker();
  const url = await broker.restart(WITHOUT_CLERK);
  const { logger, logged } = recordingLogger();
  await using open = new AsyncDisposableStack();
  const stopping = new AbortController();
  const config = { NATS_URL: url, NATS_NKEY: clerk.seed };
  const opening = openServiceLog({ config, instance: 'clerk', logger, checks: {} }, open, stopping.signal);
  await waitFor('the refusal to be logged', () => refusals(logged).length === 1);
  stopping.abort(new Error('stopping'));
  await expect(opening).rejects.toThrow('stopping');
});
