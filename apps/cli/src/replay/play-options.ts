import { resolve } from 'node:path';
import { InvalidSlice } from '@runledger/contracts/slices/read-slice';
import { isServiceName, SERVICE_NAMES, UnusableSlice, type PlayOptions } from '@runledger/replay/play-slice';
import { readPlaySettings } from '@runledger/replay/play-settings';
import { NewerFact } from '@runledger/replay/slice';
import { ConfigError } from '@runledger/service-kit/config/config';
import type { Environment } from '../api-client/connection.ts';
import type { Json } from '../command/command-context.ts';
import { secondsOf } from '../options/numbers.ts';
import { CommandError } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';
import type { Screen } from '../output/screen.ts';

export interface ReplayContext {
  readonly screen: Screen;
  readonly env: Environment;
  readonly cwd: string;
}

export interface PlayedOptions extends Json {
  readonly service?: readonly string[];
  readonly tolerance: string;
}

const MAX_TOLERANCE_S = 3_600;

/** What a slice is played with. The settings of the services come from their variables. @throws {CommandError} */
export const playOptions = (
  { env, cwd }: ReplayContext,
  slice: string,
  { service = SERVICE_NAMES, tolerance }: PlayedOptions,
): PlayOptions => {
  const services = [...new Set(service)].map((name) => {
    if (isServiceName(name)) return name;
    throw new CommandError(
      `--service ${plain(name)} is no service that can be played: ${SERVICE_NAMES.join(', ')}.`,
    );
  });
  const toleranceS = secondsOf('--tolerance', tolerance) ?? 0;
  if (toleranceS > MAX_TOLERANCE_S)
    throw new CommandError(`--tolerance ${plain(tolerance)} is more than an hour.`);
  try {
    const settings = readPlaySettings(env);
    return { path: resolve(cwd, slice), services, settings, toleranceMs: toleranceS * 1_000 };
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandError(error.message, { cause: error });
    throw error;
  }
};

/** A slice that cannot be played is the caller's to mend. @throws {CommandError} */
export const asCommandError = (error: unknown): never => {
  if (error instanceof InvalidSlice || error instanceof UnusableSlice || error instanceof NewerFact)
    throw new CommandError(error.message, { cause: error });
  throw error;
};
