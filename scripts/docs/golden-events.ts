/** The golden fixtures of events, as examples. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const FOLDER = join(import.meta.dirname, '../../packages/contracts/test/events/fixtures');

export interface GoldenEvent {
  /** Of the file, such as `RunQueued.v1.idempotent`. */
  readonly name: string;
  /** Left out of the fixtures of the fleet. */
  readonly subject?: string;
  readonly event: { readonly type: string; readonly version: number };
}

const read = (file: string): GoldenEvent => {
  const fixture = JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as
    | Omit<GoldenEvent, 'name'>
    | GoldenEvent['event'];
  return { name: basename(file, '.json'), ...('event' in fixture ? fixture : { event: fixture }) };
};

export const GOLDEN_EVENTS: readonly GoldenEvent[] = readdirSync(FOLDER, {
  recursive: true,
  encoding: 'utf8',
})
  .filter((file) => file.endsWith('.json'))
  .toSorted()
  .map(read);
