import type { Command } from 'commander';
import type { Client } from './client.ts';
import type { ExitCode } from './explained.ts';
import type { Screen } from './screen.ts';

export interface Json {
  readonly json?: boolean;
}

/** What commands are registered with. */
export interface ProgramParts {
  readonly client: () => Promise<Client>;
  readonly screen: Screen;
  readonly untilInterrupted: () => AbortSignal;
  readonly end: (code: ExitCode) => void;
  /** A command with `--json`. */
  readonly add: (parent: Command, name: string, description: string) => Command;
}
