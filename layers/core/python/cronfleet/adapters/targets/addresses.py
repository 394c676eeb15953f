"""Which addresses a webhook may reach: the public internet, and what the installation allows on top.

A tenant chooses the URL, so a URL must not be a way into the installation's own network: instance metadata, loopback,
private ranges, and every notation that hides one of them inside another address.
"""

import ipaddress
from collections.abc import Sequence
from typing import Final, TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

# RFC 4291: everything that IPv6 routes on the public internet lies in here.
_GLOBAL_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
# RFC 6052: the lower 32 bits are an IPv4 address; what DNS64 answers in a network that has no IPv4.
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")

_REFUSED: Final[tuple[Network, ...]] = (
    ipaddress.IPv4Network("0.0.0.0/8"),
    # Relays of 6to4, and the 6to4 and Teredo addresses themselves: they tunnel to an IPv4 address they contain.
    ipaddress.IPv4Network("192.88.99.0/24"),
    ipaddress.IPv6Network("2002::/16"),
    ipaddress.IPv6Network("2001::/32"),
    ipaddress.IPv6Network("2001:db8::/32"),
    ipaddress.IPv6Network("3fff::/20"),
)


def networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """CIDR ranges as networks. Raises `ValueError`, naming the text, for anything else."""
    return tuple(ipaddress.ip_network(text, strict=False) for text in texts)


def may_reach(address: Address, allowed: Sequence[Network]) -> bool:
    """Whether a webhook may connect to `address`."""
    return is_allowed(address, allowed) or _is_public(plain(address))


def is_allowed(address: Address, allowed: Sequence[Network]) -> bool:
    """Whether the installation allows `address` by name of its network."""
    inner = plain(address)
    return any(one in network for network in allowed for one in (address, inner) if one.version == network.version)


def plain(address: Address) -> Address:
    """`address`, or the IPv4 address that it stands for: mapped into IPv6, or translated by NAT64."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    if address.is_multicast or address.is_reserved or address.is_unspecified or not address.is_global:
        return False
    return not any(address in network for network in _REFUSED if network.version == address.version)
