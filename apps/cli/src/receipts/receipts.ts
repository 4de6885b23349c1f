import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { counted } from '@runledger/contracts/counted';
import { isDeleted } from '@runledger/contracts/fold/run';
import { Receipt, ReceiptKeys } from '@runledger/contracts/http/receipts';
import { parseJson } from '@runledger/contracts/json';
import type { Client } from '../api-client/client.ts';
import { ANSWER_WITHIN_MS, at } from '../api-client/api-call.ts';
import { CommandError, EXIT, type ExitCode } from '../output/command-error.ts';
import { plain } from '../output/plain-text.ts';
import { writeOutput } from '../output/write-output.ts';
import type { Screen } from '../output/screen.ts';
import { checkReceipt } from './check-receipt.ts';

/** Writes a receipt of a run to a file, or prints it. */
export const getReceipt = async (
  { call, screen, cwd }: Client,
  run: string,
  output: string | undefined,
): Promise<ExitCode> => {
  const receipt = await call(Receipt, {
    method: 'GET',
    path: at`/run/${run}/receipt`,
    answerWithinMs: ANSWER_WITHIN_MS,
  });
  if (output === undefined) screen.printJson(receipt);
  else {
    const target = { kind: 'file', path: resolve(cwd, output) } as const;
    await writeOutput(target, [`${JSON.stringify(receipt)}\n`]);
    screen.hint(
      `${counted(receipt.facts.length, 'fact')} of run ${receipt.run_id}. Check it with: runledger receipt check ${plain(output)}`,
    );
  }
  return EXIT.done;
};

/** Prints the public keys of the receipts of this installation. */
export const receiptKeys = async ({ call, screen }: Client, json: boolean): Promise<ExitCode> => {
  const { keys } = await call(ReceiptKeys, { method: 'GET', path: '/receipt-keys' });
  for (const key of keys)
    if (json) screen.printJson({ key });
    else screen.print(plain(key));
  return EXIT.done;
};

/** Checks the receipt in a file. It needs no connection. `key`: the only one that may have signed it. */
export const checkReceiptFile = async (
  { screen, cwd }: { readonly screen: Screen; readonly cwd: string },
  file: string,
  { key, json = false }: { readonly key?: string; readonly json?: boolean },
): Promise<ExitCode> => {
  const receipt = await readReceipt(resolve(cwd, file), file);
  const checked = checkReceipt(receipt);
  const why =
    checked.kind === 'wrong'
      ? checked.why
      : key !== undefined && key !== receipt.key
        ? 'it is signed with another key than the given one'
        : undefined;
  const { run_id, issued_at, facts } = receipt;
  if (why !== undefined) {
    if (json) screen.printJson({ run_id, whole: false, why });
    else screen.print(`The receipt of run ${run_id} proves nothing: ${plain(why)}.`);
    return EXIT.negative;
  }
  const run = checked.kind === 'whole' ? checked.run : undefined;
  const status = run && !isDeleted(run) ? run.status : null;
  if (json)
    screen.printJson({ run_id, whole: true, status, facts: facts.length, issued_at, key: receipt.key });
  else {
    screen.print(
      `Run ${run_id}${status === null ? '' : ` was ${status}`} at ${issued_at}: ${counted(facts.length, 'fact')}, whole and unaltered.`,
    );
    if (checked.kind === 'whole' && checked.withheld > 0)
      screen.print('Outputs of it were deleted, so the fact with them is not in the receipt. Its hash is.');
    screen.print(`Signed with ${plain(receipt.key)}`);
    if (key === undefined)
      screen.hint('Compare the key with: runledger receipt keys, or give it with --key.');
  }
  return EXIT.done;
};

const ReceiptCheck = compiledSchema(Receipt);

const readReceipt = async (path: string, file: string): Promise<Receipt> => {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CommandError(`${plain(file)} cannot be read: ${messageOf(error)}.`);
  });
  const receipt = parseJson(text);
  if (ReceiptCheck.Check(receipt)) return receipt;
  throw new CommandError(
    `${plain(file)} is no receipt of this format. Make one with: runledger receipt RUN --output FILE`,
  );
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
