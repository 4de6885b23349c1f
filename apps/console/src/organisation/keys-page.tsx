import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { ConfirmDialog } from '../ui/confirm-dialog.tsx';
import { List } from '../ui/list.tsx';
import { Ago } from '../ui/time.tsx';
import { counted } from '../ui/words.ts';
import { descendantsOf } from './descendants.ts';
import { NewKey } from './new-key.tsx';

type ApiKey = Schemas['ApiKey'];

/** The API keys that the person may manage. A key is shown once, when it is made. */
export const KeysPage = (): ReactNode => {
  const { data, error, isPending } = useQuery({
    queryKey: ['api-keys'],
    queryFn: async ({ signal }) => answered(api.GET('/api-keys', { signal })),
  });
  const [chosen, setChosen] = useState<ApiKey>();
  const keys = data?.api_keys ?? [];
  return (
    <div className="stack">
      <div className="row apart">
        <h1>API keys</h1>
        <NewKey />
      </div>
      <p className="quiet">
        Programs send a key as <code>Authorization: Bearer KEY</code>. Revoking a key also revokes the keys
        that were made with it.
      </p>
      <List
        what="API keys"
        columns={['Name', 'Begins with', 'Scopes', 'Made', 'Last used', 'Expires', 'Made with', 'Action']}
        empty="There is no key yet."
        isPending={isPending}
        error={error}
        rows={keys.map((key) => (
          <KeyRow
            key={key.id}
            apiKey={key}
            parent={keys.find(({ id }) => id === key.parent_key_id)}
            onRevoke={() => setChosen(key)}
          />
        ))}
      />
      {chosen && <RevokeDialog apiKey={chosen} keys={keys} onClose={() => setChosen(undefined)} />}
    </div>
  );
};

interface KeyRowProps {
  readonly apiKey: ApiKey;
  readonly parent: ApiKey | undefined;
  readonly onRevoke: () => void;
}

const KeyRow = ({ apiKey, parent, onRevoke }: KeyRowProps): ReactNode => (
  <tr>
    <th scope="row">{apiKey.name}</th>
    <td className="mono">{apiKey.prefix}…</td>
    <td>{apiKey.scopes.join(', ')}</td>
    <td>
      <Ago time={apiKey.created_at} />
    </td>
    <td>
      {apiKey.last_used_at === null ? (
        'never'
      ) : (
        <>
          <Ago time={apiKey.last_used_at} />
          {apiKey.last_used_address !== null && (
            <span className="quiet"> from {apiKey.last_used_address}</span>
          )}
        </>
      )}
    </td>
    <td>{apiKey.expires_at === null ? 'never' : <Ago time={apiKey.expires_at} />}</td>
    <td>{apiKey.parent_key_id === null ? '' : (parent?.name ?? 'a key that is gone')}</td>
    <td>
      <button type="button" className="danger" onClick={onRevoke}>
        Revoke …<span className="visually-hidden"> {apiKey.name}</span>
      </button>
    </td>
  </tr>
);

interface RevokeDialogProps {
  readonly apiKey: ApiKey;
  readonly keys: readonly ApiKey[];
  readonly onClose: () => void;
}

const RevokeDialog = ({ apiKey, keys, onClose }: RevokeDialogProps): ReactNode => {
  const path = { key_id: apiKey.id };
  const below = descendantsOf(apiKey.id, keys);
  return (
    <ConfirmDialog
      title={`Revoke ${apiKey.name}?`}
      action="Revoke"
      onConfirm={async () => answered(api.DELETE('/api-keys/{key_id}', { params: { path } }))}
      onClose={onClose}
    >
      <p>Programs that send it are refused within a second. This cannot be undone.</p>
      {below.length > 0 && (
        <p>
          With it, {counted(below.length, 'key that was made with it goes', 'keys that were made with it go')}
          : {below.map(({ name }) => name).join(', ')}.
        </p>
      )}
    </ConfirmDialog>
  );
};
