import { SignInLinkItem } from '@runledger/contracts/http/accounts/session';
import type { Command } from 'commander';
import type { Client } from '../api-client/client.ts';
import type { CommandContext, Json } from '../command/command-context.ts';
import { plain } from '../output/plain-text.ts';

/** Commands for operators, about people who sign in. */
export const addAccountCommands = (program: Command, { client, add }: CommandContext): void => {
  const group = program
    .command('accounts')
    .description('people who sign in (needs a key with the scope operator, as a standalone has)');
  add(
    group,
    'link <email>',
    'make a link that signs a member of your organisation in, once, such as one who lost the password',
  ).action(async (email: string, { json = false }: Json) => makeLink(await client(), email, json));
};

const makeLink = async ({ call, screen }: Client, email: string, json: boolean): Promise<void> => {
  const link = await call(SignInLinkItem, { method: 'POST', path: '/accounts/links', body: { email } });
  if (json) {
    screen.printJson(link);
    return;
  }
  screen.print(link.url);
  screen.hint(
    `It signs ${plain(link.email)} in once, until ${link.expires_at}. Whoever has it can use it: hand it to this person only.`,
  );
};
