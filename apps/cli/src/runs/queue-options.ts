import type { Command } from 'commander';
import { tags } from '../options/tags.ts';
import { decimalNumber, secondsOf } from '../options/numbers.ts';

/** When a run starts and how long it may take. */
export interface QueueSettings {
  readonly priority?: string;
  readonly concurrencyKey?: string;
  readonly runTimeout?: string;
  readonly startDeadline?: string;
  readonly delay?: string;
  readonly startAt?: string;
  readonly tag?: readonly string[];
}

export const addQueueSettings = (command: Command): Command =>
  addSettingsOfRuns(command)
    .option('--delay <time>', 'start it this time later, such as 90 (seconds), 15m or 2h')
    .option('--start-at <time>', 'start it at this time or later, such as 2026-05-01T12:00:00Z');

/** Those that do not say when it starts. */
export const addSettingsOfRuns = (command: Command): Command =>
  command
    .option(
      '--priority <number>',
      'from -100 to 100: each step starts it as if it were queued a minute earlier',
    )
    .option(
      '--concurrency-key <key>',
      'such as a user: one run of the deployment with this key executes at a time',
    )
    .option(
      '--run-timeout <time>',
      "how long an attempt may execute, such as 90 (seconds), 15m or 2h; the deployment's by default",
    )
    .option('--start-deadline <time>', "how long it may wait until it starts; the deployment's by default")
    .option('--tag <tag>', 'a word of yours to find it by; several with commas, or repeat the option', tags);

/** The members of a request. A missing option is undefined. */
export const queueSettingsOf = (options: QueueSettings): Readonly<Record<string, unknown>> => ({
  priority: decimalNumber('--priority', options.priority),
  concurrency_key: options.concurrencyKey,
  run_timeout_s: secondsOf('--run-timeout', options.runTimeout),
  start_deadline_s: secondsOf('--start-deadline', options.startDeadline),
  delay_s: secondsOf('--delay', options.delay),
  start_at: options.startAt,
  tags: options.tag,
});
