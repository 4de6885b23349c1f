import { Usage } from '@runledger/contracts/http/usage';
import type { ResourceUsage } from '@runledger/contracts/http/usage';
import type { Command } from 'commander';
import { ANSWER_WITHIN_MS } from '../api-client/api-call.ts';
import type { Client } from '../api-client/client.ts';
import type { Json, CommandContext } from '../command/command-context.ts';
import { EXIT } from '../output/command-error.ts';
import type { ExitCode } from '../output/command-error.ts';
import { printTable } from '../output/table.ts';
import type { Column } from '../output/table.ts';

type Row = ResourceUsage & { readonly resource: string };

const columns: readonly Column<Row>[] = [
  { title: 'RESOURCE', width: 18, of: ({ resource }) => resource },
  { title: 'USED', width: 16, of: ({ used }) => used?.toString() ?? null },
  { title: 'LIMIT', width: 16, of: ({ limit }) => String(limit) },
  { title: 'UNIT', width: 0, of: ({ unit }) => unit },
];

export const addUsageCommand = (program: Command, { client, end, add }: CommandContext): void => {
  add(program, 'usage', 'what the organisation uses of the shared stores, and what it may use').action(
    async ({ json = false }: Json) => end(await showUsage(await client(), json)),
  );
};

const showUsage = async ({ call, screen }: Client, json: boolean): Promise<ExitCode> => {
  const usage = await call(Usage, { method: 'GET', path: '/usage', answerWithinMs: ANSWER_WITHIN_MS });
  if (json) {
    screen.printJson(usage);
    return EXIT.done;
  }
  const items = Object.entries(usage).map(([resource, one]) => ({ resource, ...one }));
  printTable(screen, columns, { items, json });
  return EXIT.done;
};
