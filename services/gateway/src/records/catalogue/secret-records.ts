import { Secret } from '@runledger/contracts/catalogue/records';
import { isOrgId, type OrgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { changeEntry, InvalidRecord, type Entry } from '@runledger/event-log/streams/bucket';
import { openTables } from '@runledger/event-log/table/table';
import { UnreadableSecret, type SecretBox } from '@runledger/webhooks/secret-box';
import type { SealedRecords, SealedState } from '@runledger/webhooks/signing-secrets';

/** A secret as it is shown. */
export type KnownSecret = Omit<Secret, 'sealed'>;

/** Who sets a secret, and when. */
interface SettingOfSecret {
  readonly value: string;
  readonly by: string;
  readonly at: Date;
}

/** The secrets of organisations, which programs get as variables. Every method may throw LogUnavailable. */
export interface SecretRecords {
  /** By their names. */
  list(org: OrgId): Promise<readonly KnownSecret[]>;
  has(org: OrgId, name: string): Promise<boolean>;
  set(org: OrgId, name: string, setting: SettingOfSecret): Promise<KnownSecret>;
  /** False when there is none. */
  remove(org: OrgId, name: string): Promise<boolean>;
  /** Undefined when there is none. @throws {UnreadableSecret} */
  open(org: OrgId, name: string): Promise<string | undefined>;
}

const PREFIX = 'secrets';
const keyOf = (org: string, name: string): string => `${PREFIX}.${org}.${name}`;
/** A sealed value opens for the secret of its organisation only. */
const contextOf = (org: string, name: string): string => `the secret ${name} of ${org}`;

const shown = ({ sealed: _sealed, ...secret }: Secret): KnownSecret => secret;

const tablesOf = (log: EventLog) =>
  openTables(log, { bucket: 'CATALOGUE', prefix: PREFIX, schema: Secret, keep: shown });

export const organisationSecrets = (log: EventLog, box: SecretBox): SecretRecords => {
  const secrets = tablesOf(log);
  return {
    list: async (org) =>
      (await secrets.of(org).now())
        .newestFirst()
        .map(({ value }) => value)
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    has: async (org, name) => (await secrets.get(keyOf(org, name))) !== undefined,
    set: async (org_id, name, { value, by, at }) => {
      const now = at.toISOString();
      const sealed = box.seal(value, contextOf(org_id, name));
      const busy = `The secret ${name} changes too often. Try again.`;
      const decided = await changeEntry(
        secrets,
        keyOf(org_id, name),
        (present) => ({
          value: {
            org_id,
            name,
            sealed,
            created_at: present?.created_at ?? now,
            updated_at: now,
            updated_by: by,
          },
        }),
        busy,
      );
      return shown(decided.value);
    },
    remove: async (org, name) => {
      if ((await secrets.get(keyOf(org, name))) === undefined) return false;
      await secrets.erase(keyOf(org, name));
      return true;
    },
    open: async (org, name) => {
      const found = await secrets.get(keyOf(org, name));
      return found && box.open(found.value.sealed, contextOf(org, name));
    },
  };
};

/** Those of all organisations. @throws {LogUnavailable} */
export const sealedOrganisationSecrets = (log: EventLog, box: SecretBox): SealedRecords => {
  const secrets = tablesOf(log);

  /** `onOld` gets what the box has opened. */
  const examine = async (
    key: string,
    onOld: (entry: Entry<Secret>, value: string) => Promise<SealedState>,
  ): Promise<SealedState> => {
    try {
      const entry = await secrets.get(key);
      if (entry === undefined) return { kind: 'gone' };
      const { org_id, name, sealed } = entry.value;
      if (!isOrgId(org_id) || key !== keyOf(org_id, name))
        return { kind: 'unreadable', why: `The key ${key} is not that of the secret.` };
      const value = box.open(sealed, contextOf(org_id, name));
      return box.isFresh(sealed) ? { kind: 'current' } : await onOld(entry, value);
    } catch (error) {
      if (error instanceof UnreadableSecret || error instanceof InvalidRecord)
        return { kind: 'unreadable', why: error.message };
      throw error;
    }
  };
  const inspect = (key: string): Promise<SealedState> => examine(key, () => Promise.resolve({ kind: 'old' }));
  return {
    kind: 'organisation_secrets',
    next: (behind) => secrets.nextWrite(PREFIX, behind),
    inspect,
    reseal: (key) =>
      examine(key, async ({ value, revision }, text) => {
        const sealed = box.seal(text, contextOf(value.org_id, value.name));
        const written = await secrets.update(key, { ...value, sealed }, revision);
        return written === false ? inspect(key) : { kind: 'resealed' };
      }),
  };
};

/** The id of one that is shown to operators: of its organisation, and its name. */
export const idOfKey = (key: string): string => key.slice(`${PREFIX}.`.length);
