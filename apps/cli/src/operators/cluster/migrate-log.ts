import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { BrokerSettings, EventLog } from '@runledger/event-log/connect/event-log';
import { confirmMigration, goBack } from '@runledger/event-log/migrate/go-back';
import { CopyNotEqual, migrate, MigrationRefused, type Logs } from '@runledger/event-log/migrate/migrate';
import type { Environment } from '../../api-client/connection.ts';
import { CommandError, EXIT, type ExitCode } from '../../output/command-error.ts';
import type { Screen } from '../../output/screen.ts';
import { findBroker } from '../../broker-client/broker-credentials.ts';
import { openLogAt } from '../../broker-client/open-log.ts';
import { printBack, printConfirmed, printMoved, printProof, printWarnings } from './print-migration.ts';

export interface MigrateOptions {
  readonly to?: string;
  readonly toNkeyFile?: string;
  readonly back?: boolean;
  readonly discardNewer?: boolean;
  readonly confirm?: boolean;
  readonly json?: boolean;
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
    if (options.back === true) return await back(context, { source, target }, options);
    if (!target || !to) throw new CommandError(`Name the new brokers: --to ${EXAMPLE}.`);
    if (options.confirm === true) return await confirm(context, { source, target }, options);
    return await move(context, { source, target }, { ...options, urls: { from: from.url, to: to.url } });
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
  { json = false, urls }: Pick<MigrateOptions, 'json'> & { readonly urls: { from: string; to: string } },
): Promise<ExitCode> => {
  if (!json) printWarnings(screen, urls);
  const signal = untilInterrupted();
  try {
    const proofs = await migrate(logs, {
      signal,
      onStep: (step, stream) => screen.redraw(`${step} ${stream}`),
    });
    printMoved(screen, { proofs, urls, json });
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
    printProof(screen, error.proofs, json);
    throw new CommandError(error.message);
  }
};

const back = async (
  { screen }: MigrateContext,
  { source, target }: { readonly source: EventLog; readonly target: EventLog | undefined },
  { discardNewer = false, json = false }: MigrateOptions,
): Promise<ExitCode> => {
  printBack(screen, await goBack(source, { target, discardNewer }), json);
  return EXIT.done;
};

const confirm = async (
  { screen }: MigrateContext,
  logs: Logs,
  { json = false }: MigrateOptions,
): Promise<ExitCode> => {
  await confirmMigration(logs);
  printConfirmed(screen, json);
  return EXIT.done;
};
