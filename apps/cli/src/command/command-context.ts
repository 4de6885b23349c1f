import type { RecordAsOperator } from '@runledger/event-log/audit/record-action';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Command } from 'commander';
import type { Client } from '../api-client/client.ts';
import type { ExitCode } from '../output/command-error.ts';
import type { Screen } from '../output/screen.ts';

/** What commands use that read the log. */
export interface Operator {
  readonly log: EventLog;
  readonly screen: Screen;
  readonly record: RecordAsOperator;
}

export interface Json {
  readonly json?: boolean;
}

/** What the registration of a command needs. */
export interface CommandContext {
  readonly client: () => Promise<Client>;
  /** Opens the log with the operator's credentials, and closes it after use. */
  readonly asOperator: <Result>(use: (operator: Operator) => Promise<Result>) => Promise<Result>;
  readonly screen: Screen;
  /** For a result that is not text. */
  readonly stdout: NodeJS.WritableStream;
  readonly untilInterrupted: () => AbortSignal;
  readonly end: (code: ExitCode) => void;
  /** A command with `--json`. */
  readonly add: (parent: Command, name: string, description: string) => Command;
}
