import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { BrokerSettings } from '@runledger/event-log/connect/event-log';
import { confirmMigration, rollBack, type Newer } from '@runledger/event-log/migrate/roll-back';
import {
  CopyNotEqual,
  migrate,
  MigrationRefused,
  type Logs,
  type StreamProof,
} from '@runledger/event-log/migrate/migrate';
import { RemovalRefused, removeBroker } from '@runledger/event-log/provision/brokers';
import type { Environment } from '../api/connection.ts';
import { CommandError, EXIT, type ExitCode } from '../command/command-error.ts';
import type { Screen } from '../command/screen.ts';
import { findBroker, openLogAt } from './open-log.ts';
import { printTable, type Column } from '../command/table.ts';

export interface MigrateOptions {
  readonly to?: string;
  readonly toNkeyFile?: string;
  readonly back?: boolean;
  readonly discardNewer?: boolean;
  readonly confirm?: boolean;
}

export interface MigrateContext {
  readonly env: Environment;
  readonly cwd: string;
  readonly screen: Screen;
  readonly untilInterrupted: () => AbortSignal;
}

/** @throws CommandError */
export const migrateLog = async (context: MigrateContext, options: MigrateOptions): Promise<ExitCode> => {
  checkOptions(options);
  await using open = new AsyncDisposableStack();
  const from = await findBroker(context.env, context.cwd);
  const source = open.use(await openLogAt(from));
  const to = await targetSettings(context, from, options);
  const target = to && open.use(await openLogAt(to));
  try {
    if (options.back === true) {
      printBack(
        context.screen,
        await rollBack(source, { target, discardNewer: options.discardNewer ?? false }),
      );
      return EXIT.done;
    }
    if (!target || !to) throw new CommandError(`Name the new brokers: --to ${EXAMPLE}.`);
    if (options.confirm === true) {
      await confirmMigration({ source, target });
      printConfirmed(context.screen);
      return EXIT.done;
    }
    return await move(context, { source, target }, { from: from.url, to: to.url });
  } catch (error) {
    if (error instanceof MigrationRefused) throw new CommandError(error.message);
    throw error;
  }
};

const EXAMPLE = 'nats://10.0.0.1:4222,nats://10.0.0.2:4222,nats://10.0.0.3:4222';

const checkOptions = ({
  back: isBack,
  confirm: isConfirm,
  discardNewer,
  to,
  toNkeyFile,
}: MigrateOptions): void => {
  if (isBack && isConfirm) throw new CommandError('Use --back or --confirm, not both.');
  if (discardNewer && !isBack) throw new CommandError('--discard-newer is a part of --back.');
  if (toNkeyFile !== undefined && to === undefined)
    throw new CommandError(`--to-nkey-file needs the new brokers too: --to ${EXAMPLE}.`);
};

const targetSettings = async (
  { cwd }: MigrateContext,
  from: BrokerSettings,
  { to, toNkeyFile }: MigrateOptions,
): Promise<BrokerSettings | undefined> => {
  if (to === undefined) return undefined;
  if (toNkeyFile === undefined) return { ...from, url: to };
  const file = resolve(cwd, toNkeyFile);
  const seed = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new CommandError(`--to-nkey-file ${file} cannot be read: ${String(error)}.`);
  });
  return { url: to, name: from.name, seed: seed.trim() };
};

const move = async (
  { screen, untilInterrupted }: MigrateContext,
  logs: Logs,
  urls: Urls,
): Promise<ExitCode> => {
  if (!screen.isJson()) printWarnings(screen, urls);
  const signal = untilInterrupted();
  try {
    const proofs = await migrate(logs, {
      signal,
      onStep: (step, stream) => screen.redraw(`${step} ${stream}`),
    });
    printMoved(screen, proofs, urls);
    return EXIT.done;
  } catch (error) {
    if (signal.aborted) {
      screen.hint(
        'Interrupted. The new brokers are not in use. The old one may take no messages: finish with the same command, or take the ' +
          'log back with --back.',
      );
      return EXIT.cancelled;
    }
    if (!(error instanceof CopyNotEqual)) throw error;
    printProof(screen, error.proofs);
    throw new CommandError(error.message);
  }
};

interface Urls {
  readonly from: string;
  readonly to: string;
}

/** What an operator should know before the copy begins. */
const printWarnings = (screen: Screen, { from, to }: Urls): void => {
  for (const line of [
    `The log moves from ${from} to ${to}.`,
    'While it is copied, the old broker takes no messages: clients get 503. It keeps all its data.',
    'Two things delete data, and cannot be taken back:',
    '- a cluster block in the configuration of the old broker: half a minute after it has joined, it deletes all its streams;',
    '- a new broker that is started with the data folder of the old one: it does the same. Each needs an empty folder.',
  ])
    screen.hint(line);
};

const DIGEST_SHOWN = 16;

const columns = (proofs: readonly StreamProof[]): readonly Column<StreamProof>[] => [
  {
    title: 'STREAM',
    width: Math.max(...proofs.map(({ stream }) => stream.length)),
    of: ({ stream }) => stream,
  },
  { title: 'MESSAGES', width: 8, of: ({ messages }) => String(messages) },
  { title: 'FIRST', width: 8, of: ({ firstSequence }) => String(firstSequence) },
  { title: 'LAST', width: 8, of: ({ lastSequence }) => String(lastSequence) },
  { title: 'OLD SHA-256', width: DIGEST_SHOWN, of: ({ digest }) => digest.source.slice(0, DIGEST_SHOWN) },
  { title: 'NEW SHA-256', width: DIGEST_SHOWN, of: ({ digest }) => digest.target.slice(0, DIGEST_SHOWN) },
  { title: 'RESULT', width: 0, of: ({ problem }) => problem ?? 'equal' },
];

const printProof = (screen: Screen, proofs: readonly StreamProof[]): void => {
  if (screen.isJson()) for (const proof of proofs) screen.printJson(jsonOf(proof));
  else printTable(screen, columns(proofs), proofs);
};

const jsonOf = ({
  stream,
  messages,
  firstSequence,
  lastSequence,
  ended,
  digest,
  problem,
}: StreamProof): object => ({
  stream,
  messages,
  first_sequence: firstSequence,
  last_sequence: lastSequence,
  expired_meanwhile: ended,
  old_sha256: digest.source,
  new_sha256: digest.target,
  problem: problem ?? null,
});

const printMoved = (screen: Screen, proofs: readonly StreamProof[], urls: Urls): void => {
  if (proofs.length > 0) printProof(screen, proofs);
  else if (screen.isJson()) screen.printJson({ moved: 'before' });
  if (screen.isJson()) return;
  screen.print(
    proofs.length > 0
      ? 'The log has moved: both have the same messages in every stream.'
      : 'The log had moved before, and the new brokers are in use. Nothing was copied.',
  );
  for (const line of [
    '',
    'What to do next:',
    `- start all services with NATS_URL=${urls.to}`,
    '- leave the old broker as it is. No service can write to it, and you can go back: runledger cluster migrate --back',
    '- when all works, end that: runledger cluster migrate --confirm. Then stop the old broker, and delete its data folder.',
  ])
    screen.hint(line);
};

const printBack = (screen: Screen, lost: readonly Newer[]): void => {
  const lostWords = lost.map(({ stream, messages }) => `${messages} messages of ${stream}`).join(', ');
  screen.result({ back: true, lost }, () => [
    'The log is back at the old broker. The new brokers take no messages.',
    ...(lost.length > 0 ? [`Lost: ${lostWords}.`] : []),
  ]);
  if (!screen.isJson()) screen.hint('Start all services with the NATS_URL of the old broker.');
};

const printConfirmed = (screen: Screen): void => {
  screen.result({ confirmed: true }, () => 'The move is confirmed: the log is at the new brokers only.');
  if (!screen.isJson()) screen.hint('Stop the old broker, and delete its data folder.');
};

/** As the system user of the brokers. @throws CommandError */
export const removeBrokerNamed = async (
  { env, cwd, screen, untilInterrupted }: MigrateContext,
  name: string,
): Promise<ExitCode> => {
  await using log = await openLogAt(await findBroker(env, cwd));
  const signal = untilInterrupted();
  try {
    const brokers = await removeBroker(log, name, {
      signal,
      onCopying: (streams) => screen.redraw(`waiting for the copies of ${streams.join(', ')}`),
    });
    screen.result(
      { removed: name, brokers },
      () => `${name} is removed. The log is complete at ${brokers.join(', ')}.`,
    );
    screen.hint(`Delete the data folder of ${name}, and do not start it again.`);
    return EXIT.done;
  } catch (error) {
    if (error instanceof RemovalRefused) throw new CommandError(error.message);
    if (!signal.aborted) throw error;
    screen.hint(
      `Interrupted. ${name} is removed, and the others go on making copies: wait for "/readyz" to name no stream.`,
    );
    return EXIT.cancelled;
  }
};
