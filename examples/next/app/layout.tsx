import type { ReactNode } from 'react';

const Layout = ({ children }: { readonly children: ReactNode }): ReactNode => (
  <html lang="en">
    <body>{children}</body>
  </html>
);
export default Layout;
