import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { chooseTheme, storedTheme, type Theme } from './theme.ts';
import { SignIn } from '../session/sign-in-page.tsx';
import { useChooseOrganisation, useSession, useSignOut, type Session } from '../session/use-session.ts';
import { Loading, Problem } from '../ui/problem.tsx';
import { PAGES } from './pages.ts';
import './shell.css';

/** What is around every page. Who is not signed in gets the sign-in page at the address that was asked for, and goes on there. */
export const Shell = (): ReactNode => {
  const { data: session, error, refetch } = useSession();
  if (!session)
    return (
      <main className="sign-in">
        {error ? <Problem error={error} retry={() => void refetch()} /> : <Loading what="the console" />}
      </main>
    );
  if (session.user === null) return <SignIn />;
  if (session.organisations.length === 0) return <NoOrganisation />;
  return (
    <div className="shell">
      <a className="skip" href="#page">
        Skip to the page
      </a>
      <Top session={session} />
      <Navigation session={session} />
      <Page />
    </div>
  );
};

const NoOrganisation = (): ReactNode => {
  const signOut = useSignOut();
  return (
    <main className="sign-in stack">
      <h1>You belong to no organisation</h1>
      <p>An owner of one can invite you with a link.</p>
      <div>
        <button type="button" onClick={() => signOut.mutate()}>
          Sign out
        </button>
      </div>
    </main>
  );
};

/** Each page has the focus when it opens, so that a screen reader begins there. */
const Page = (): ReactNode => {
  const page = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) page.current?.focus();
    first.current = false;
  }, [path]);
  return (
    <main id="page" tabIndex={-1} ref={page}>
      <Outlet />
    </main>
  );
};

const Navigation = ({ session }: { readonly session: Session }): ReactNode => (
  <nav aria-label="Console">
    {PAGES.filter(
      ({ scopes }) => !scopes || scopes.some((scope) => session.organisation?.scopes.includes(scope)),
    ).map(({ to, title }) => (
      <Link to={to} key={to} activeProps={{ 'aria-current': 'page' }}>
        {title}
      </Link>
    ))}
  </nav>
);

const Top = ({ session }: { readonly session: Session }): ReactNode => {
  const signOut = useSignOut();
  const choose = useChooseOrganisation();
  const { organisations, organisation, user } = session;
  return (
    <header>
      <Link to="/runs" className="name">
        Runledger
      </Link>
      {organisations.length > 1 ? (
        <select
          aria-label="Organisation"
          value={organisation?.id ?? ''}
          onChange={({ target }) => choose.mutate(target.value)}
        >
          {organisations.map(({ id, name }) => (
            <option value={id} key={id}>
              {name}
            </option>
          ))}
        </select>
      ) : (
        <span>{organisation?.name}</span>
      )}
      <Link to="/account" className="who">
        {user?.email} ({organisation?.role})
      </Link>
      <ThemeChoice />
      <button type="button" onClick={() => signOut.mutate()}>
        Sign out
      </button>
    </header>
  );
};

const ThemeChoice = (): ReactNode => {
  const [theme, setTheme] = useState(storedTheme);
  return (
    <select
      aria-label="Colours"
      value={theme}
      onChange={({ target }) => {
        const chosen = target.value as Theme;
        chooseTheme(chosen);
        setTheme(chosen);
      }}
    >
      <option value="system">as the system</option>
      <option value="light">light</option>
      <option value="dark">dark</option>
    </select>
  );
};
