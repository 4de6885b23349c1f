import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Command } from 'commander';
import type { Client } from '../api-client/client.ts';
import type { ExitCode } from '../output/command-error.ts';
import type { Screen } from '../output/screen.ts';

export interface Json {
  readonly json?: boolean;
}

/** What commands are registered with. */
export interface CommandContext {
  readonly client: () => Promise<Client>;
  /** Opens the log itself, with the credentials of whoever runs the broker, for as long as it is used. */
  readonly asOperator: <Result>(use: (log: EventLog) => Promise<Result>) => Promise<Result>;
  readonly screen: Screen;
  readonly untilInterrupted: () => AbortSignal;
  readonly end: (code: ExitCode) => void;
  /** A command with `--json`. */
  readonly add: (parent: Command, name: string, description: string) => Command;
}
