import type { Client } from '../api-client/client.ts';
import { patchRecord, postRecord, type SingleRecords } from '../catalogue/records.ts';
import { CommandError } from '../output/command-error.ts';

export type Outcome = 'new' | 'updated' | 'unchanged';

export interface Deployed<Item> {
  readonly item: Item;
  readonly outcome: Outcome;
}

/** Remembers how to take back what a step has made or changed. */
export type Remember = (undo: () => Promise<unknown>) => void;

/** Carries out steps. When the service refuses one of them, those before are taken back, the last one first. */
export const allOrNothing = async <Result>(
  steps: (remember: Remember) => Promise<Result>,
): Promise<Result> => {
  const undos: (() => Promise<unknown>)[] = [];
  try {
    return await steps((undo) => undos.push(undo));
  } catch (error) {
    if (!(error instanceof CommandError) || error.refusal === undefined) throw error;
    const { refusal } = error;
    try {
      for (const undo of undos.toReversed()) await undo();
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new CommandError(`${error.message} What was made before is still there: ${why}`, {
        refusal,
        cause,
      });
    }
    throw error;
  }
};

/** A new record, which is archived when the command is refused nevertheless, since something changed after the check. */
export const made = async <Item extends { readonly id: string }>(
  { call }: Client,
  kind: SingleRecords<Item>,
  body: Readonly<Record<string, unknown>>,
  remember: Remember,
): Promise<Item> => {
  const item = await postRecord(call, kind, body);
  remember(() => patchRecord(call, kind, { given: item.id, body: { archived: true } }));
  return item;
};
