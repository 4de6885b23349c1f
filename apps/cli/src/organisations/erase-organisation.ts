import { OrganisationTombstone } from '@runledger/contracts/http/organisations';
import type { Command } from 'commander';
import type { Client } from '../api-client/client.ts';
import type { CommandContext, Json } from '../command/command-context.ts';
import { EXIT, type ExitCode } from '../output/command-error.ts';
import { counted } from '@runledger/contracts/counted';
import { printRows } from '../output/table.ts';

interface EraseOptions extends Json {
  readonly name: string;
}

/** The commands of operators who erase an organisation, over the API. */
export const addErasureCommands = (organisations: Command, { client, end, add }: CommandContext): void => {
  add(organisations, 'erase <id>', 'erase everything of an organisation (key with the scope operator)')
    .requiredOption('--name <name>', 'its name, as a confirmation: this cannot be undone')
    .action(async (id: string, { name, json = false }: EraseOptions) =>
      end(await eraseOrganisation(await client(), { id, name, json })),
    );
  add(
    organisations,
    'tombstone <id>',
    'what the erasure of an organisation erased, when and by whom (key with the scope operator)',
  ).action(async (id: string, { json = false }: Json) => {
    const { call, screen } = await client();
    const found = await call(OrganisationTombstone, { method: 'GET', path: `${pathOf(id)}/tombstone` });
    if (json) screen.printJson(found);
    else printRows(screen, rowsOf(found));
    end(EXIT.done);
  });
};

const eraseOrganisation = async (
  { call, screen }: Client,
  { id, name, json }: { readonly id: string; readonly name: string; readonly json: boolean },
): Promise<ExitCode> => {
  const erasure = await call(OrganisationTombstone, { method: 'DELETE', path: pathOf(id), query: { name } });
  if (json) screen.printJson(erasure);
  else if (erasure.state === 'erased') screen.print(`Organisation ${erasure.org_id} is erased.`);
  else {
    screen.print(`Organisation ${erasure.org_id} is being erased. Its keys are refused within seconds.`);
    screen.hint(`See whether all of it is gone: runledger organisations tombstone ${erasure.org_id}`);
  }
  return EXIT.done;
};

const pathOf = (id: string): string => `/organisations/${encodeURIComponent(id)}`;

const rowsOf = ({ org_id, requested_at, requested_by, state, erased_at, erases }: OrganisationTombstone) =>
  [
    ['organisation', org_id],
    ['requested', requested_at, 'time'],
    ['by user', requested_by.user_id],
    ['with key', requested_by.key_id],
    ['state', state === 'erased' ? 'erased' : 'being erased'],
    ['erased', erased_at, 'time'],
    [
      'so far',
      [counted(erases.keys, 'key'), counted(erases.runs, 'run'), counted(erases.files, 'file')].join(', '),
    ],
  ] as const;
