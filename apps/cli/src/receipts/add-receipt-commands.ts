import type { Command } from 'commander';
import type { CommandContext, Json } from '../command/command-context.ts';

interface CheckOptions extends Json {
  readonly key?: string;
}

/** What they do is loaded when they run: other commands need no signatures. */
export const addReceiptCommands = (
  program: Command,
  { client, screen, end, add }: CommandContext,
  { cwd }: { readonly cwd: string },
): void => {
  const receipt = program
    .command('receipt')
    .description(
      'write a receipt of a run: a file that proves its history (needs a key with the scope admin)',
    )
    .argument('<run>')
    .option('--output <file>', 'instead of standard output')
    .action(async (run: string, { output }: { readonly output?: string }) => {
      const { getReceipt } = await import('./receipts.ts');
      end(await getReceipt(await client(), run, output));
    });
  add(
    receipt,
    'check <file>',
    'check a receipt, without a connection: exit code 1 when something was altered or is missing',
  )
    .option('--key <key>', 'the public key that must have signed it')
    .action(async (file: string, options: CheckOptions) => {
      const { checkReceiptFile } = await import('./receipts.ts');
      end(await checkReceiptFile({ screen, cwd }, file, options));
    });
  add(receipt, 'keys', 'print the public keys with which the installation signs receipts').action(
    async ({ json = false }: Json) => {
      const { receiptKeys } = await import('./receipts.ts');
      end(await receiptKeys(await client(), json));
    },
  );
};
