import { Role } from '@runledger/contracts/catalogue/records';
import { CreatedInvitationItem, type NewInvitationRequest } from '@runledger/contracts/http/invitations';
import { SignInLinkItem } from '@runledger/contracts/http/accounts';
import { Option, type Command } from 'commander';
import type { Static } from 'typebox';
import type { Client, CommandContext, Json } from '../command/command-context.ts';
import { plain } from '../command/command-error.ts';

/** Commands about people who sign in. */
export const addAccountCommands = (program: Command, { client, add }: CommandContext): void => {
  const group = program.command('accounts').description('people who sign in to the console');
  add(group, 'invite <email>', 'make a link with which somebody becomes a member of your organisation')
    .addOption(
      new Option('--role <role>', 'what the member may do')
        .choices(Role.enum)
        .default('developer' satisfies Role),
    )
    .option('--organisation <id>', 'as an operator: another organisation than that of the key')
    .action(async (email: string, { json = false, role, organisation }: InviteOptions) =>
      invite(
        await client(),
        { email, role, ...(organisation !== undefined && { organisation_id: organisation }) },
        json,
      ),
    );
  add(
    group,
    'link <email>',
    'make a link that signs a member of your organisation in, once, such as one who lost the password (needs the scope operator)',
  ).action(async (email: string, { json = false }: Json) => makeLink(await client(), email, json));
};

interface InviteOptions extends Json {
  readonly role: Role;
  readonly organisation?: string;
}

const invite = async (
  { call, screen }: Client,
  body: Static<typeof NewInvitationRequest>,
  json: boolean,
): Promise<void> => {
  const made = await call(CreatedInvitationItem, { method: 'POST', path: '/invitations', body });
  const member = `It makes ${plain(made.email)} a member with the role ${made.role}, once`;
  printLink(screen, made, member, json);
  if (!json && !made.may_create_account)
    screen.hint(
      'The person needs an account here, or signs in with the provider: only the link of an operator makes an account.',
    );
};

const makeLink = async ({ call, screen }: Client, email: string, json: boolean): Promise<void> => {
  const made = await call(SignInLinkItem, { method: 'POST', path: '/accounts/links', body: { email } });
  printLink(screen, made, `It signs ${plain(made.email)} in once`, json);
};

interface Link {
  readonly url: string;
  readonly expires_at: string;
}

const printLink = (screen: Client['screen'], made: Link, what: string, json: boolean): void => {
  if (json) {
    screen.printJson(made);
    return;
  }
  screen.print(made.url);
  screen.hint(`${what}, until ${made.expires_at}. Whoever has it can use it: hand it to this person only.`);
};
