import type { Organisation } from '@runledger/contracts/catalogue/records';
import { catalogue } from '@runledger/gateway/records/catalogue/catalogue';
import type { Operator } from '../command/command-context.ts';
import { printTable, type Column } from '../output/table.ts';

const columns: readonly Column<Organisation>[] = [
  { title: 'ID', width: 36, of: ({ id }) => id },
  { title: 'CREATED', width: 24, is: 'time', of: ({ created_at }) => created_at },
  { title: 'NAME', width: 0, of: ({ name }) => name },
];

/** Prints all organisations, oldest first. */
export const listOrganisations = async ({ log, screen }: Operator, json: boolean): Promise<void> => {
  const organisations = (await catalogue(log).listOrganisations()).toSorted(oldestFirst);
  printTable(screen, columns, { items: organisations, json });
  if (!json && organisations.length === 0)
    screen.hint('There is no organisation yet. Make one with: runledger organisations create NAME');
};

export const oldestFirst = (
  one: { readonly created_at: string },
  other: { readonly created_at: string },
): number => Date.parse(one.created_at) - Date.parse(other.created_at);
