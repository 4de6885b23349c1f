import type { Owner } from './consumer-owner.ts';

export interface ConsumeOptions {
  /** The durable name, under which the broker keeps the position. Letters, digits, "_" and "-". */
  readonly name: string;
  readonly stream: string;
  readonly subjects: readonly string[];
  /** Where a new consumer begins: with all stored messages, or with new ones only. */
  readonly deliver: 'all' | 'new';
  /**
   * The consumer is for one process at a time, and for one subject. It is not opened while another process uses it.
   * The consumption stops with ConsumerTakenOver when another process has it all the same, and with ConsumerChanged when
   * its configuration was changed.
   */
  readonly owner?: Owner;
}
